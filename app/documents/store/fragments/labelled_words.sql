-- Analyses the text to index of a chunk. Its title is labelled A, or C if it is a heading of the chunk as well, and its
-- other headings B, so that a condition can be restricted to them.
-- $config  name of the text-search configuration
-- $indexed  the content, the title, the title that is a heading as well, and the headings, separated by U+001F; only the
--   content is always there
setweight(to_tsvector(CAST($config AS regconfig), split_part($indexed, chr(31), 2)), 'A')
        || setweight(to_tsvector(CAST($config AS regconfig), split_part($indexed, chr(31), 3)), 'C')
        || setweight(to_tsvector(CAST($config AS regconfig), split_part($indexed, chr(31), 4)), 'B')
        || to_tsvector(CAST($config AS regconfig), split_part($indexed, chr(31), 1))
