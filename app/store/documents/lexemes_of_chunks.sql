-- Finds which of some lexemes each of some chunks contains in its title, headings or content.
-- Columns: chunk_id, lexemes (empty if there are none); one row per chunk.
-- :user_id text  owner of the rows
-- :chunk_ids uuid[]  ids of the chunks
-- :lexemes text[]  lexemes to look for
SELECT c.chunk_id, ARRAY(SELECT t.lexeme FROM unnest(c.tsv) AS t WHERE t.lexeme = ANY (:lexemes)) AS lexemes
FROM unnest(:chunk_ids) AS g (chunk_id)
CROSS JOIN LATERAL (
    SELECT o.chunk_id, o.tsv FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
) AS c
