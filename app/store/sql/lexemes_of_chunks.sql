-- Finds which of some lexemes each of some chunks holds, in its title, headings or content.
-- Columns: chunk_id, lexemes (empty where it holds none); a row for each chunk.
-- :user_id text  whose chunks
-- :chunk_ids uuid[]  which
-- :lexemes text[]  which lexemes
SELECT c.chunk_id, ARRAY(SELECT t.lexeme FROM unnest(c.tsv) AS t WHERE t.lexeme = ANY (:lexemes)) AS lexemes
FROM unnest(:chunk_ids) AS g (chunk_id)
CROSS JOIN LATERAL (
    SELECT o.chunk_id, o.tsv FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
) AS c
