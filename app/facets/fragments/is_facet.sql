-- Tests whether a key of metadata is counted. Longer keys cannot be asked for, and may be too long for an index.
-- $key  the key
length($key) <= 200
