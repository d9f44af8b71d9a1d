-- The beginning of a value's text in lower case, by which values are listed and completed.
-- $text  the text
left(lower($text), 100) COLLATE "C"
