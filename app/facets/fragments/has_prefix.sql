-- Tests whether the text of a value begins with a prefix, in any case; each does with an empty one.
-- $value  the value (jsonb)
-- $prefix  the prefix
($prefix = '' OR starts_with(lower($value #>> '{}'), lower($prefix)))
