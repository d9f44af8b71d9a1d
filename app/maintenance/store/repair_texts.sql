-- Rewrites the tsvector and the length of chunks from their text. The caller holds the user's lock.
-- Columns: none.
-- :chunk_nos bigint[]  numbers of the chunks
-- :indexed text[]  the text to index of each chunk
WITH analysed AS MATERIALIZED (
    SELECT c.chunk_no, {{labelled_words c.config, g.indexed}} AS words
    FROM unnest(:chunk_nos, :indexed) AS g (chunk_no, indexed)
    JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = g.chunk_no
)
UPDATE stepwell.chunks AS c
SET tsv = stepwell.with_characters(a.words),
    length = CAST((SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(a.words) AS t) AS integer)
FROM analysed AS a
WHERE c.user_id = :user_id AND c.chunk_no = a.chunk_no
