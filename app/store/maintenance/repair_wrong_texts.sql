-- Finds chunks whose stored tsvector or length differs from that of their text.
-- Columns: chunk_no.
-- :user_id text  owner of the rows
-- :chunk_nos bigint[]  numbers of the chunks
-- :indexed text[]  the text to index of each chunk
SELECT c.chunk_no
FROM unnest(:chunk_nos, :indexed) AS g (chunk_no, indexed)
JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = g.chunk_no
CROSS JOIN LATERAL to_tsvector(CAST(c.config AS regconfig), g.indexed) AS w (words)
WHERE c.tsv IS DISTINCT FROM stepwell.with_characters(w.words)
   OR c.length <> (SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(w.words) AS t)
