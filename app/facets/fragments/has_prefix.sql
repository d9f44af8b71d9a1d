-- Tests whether the text of a value begins with a prefix, ignoring case. Every text begins with an empty prefix.
-- $value  the value (jsonb)
-- $prefix  the prefix
($prefix = '' OR starts_with(lower($value #>> '{}'), lower($prefix)))
