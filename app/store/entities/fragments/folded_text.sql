-- Folds a text as names are folded, as far as the letters of `name_probes` are concerned: lower case, decomposed, without
-- accents. The iota subscript, character 837, is a letter of its own.
-- $text  the text
CASE WHEN octet_length($text) = length($text) THEN lower($text)
         ELSE regexp_replace(
             replace(replace(lower(normalize(replace(replace($text, 'ß', 'ss'), 'ẞ', 'ss'), NFKD)), chr(837), 'ι'), 'ς', 'σ'),
             '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+', '', 'g')
         END
