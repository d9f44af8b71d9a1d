-- Which of these lexemes does each of these chunks hold, in its title, headings or content?
-- Columns: a row a chunk; lexemes is empty where it holds none.
-- :user_id text  whose chunks
-- :chunk_ids uuid[]  which
-- :lexemes text[]  what is looked for
SELECT c.chunk_id, ARRAY(SELECT t.lexeme FROM unnest(c.tsv) AS t WHERE t.lexeme = ANY (:lexemes)) AS lexemes
FROM unnest(:chunk_ids) AS g (chunk_id)
CROSS JOIN LATERAL (
    SELECT o.chunk_id, o.tsv FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
) AS c
