-- Finds which of some chunks contain an excluded word or phrase.
-- Columns: chunk_id.
-- :user_id text  owner of the rows
-- :chunk_ids uuid[]  ids of the chunks
-- :excluded_folded text[]  words and phrases, accents folded
-- :excluded_plain text[]  words and phrases, accents kept
WITH corpus AS MATERIALIZED (
    SELECT coalesce(array_agg(s.config), '{}') AS configs
    FROM stepwell.text_statistics AS s
    WHERE s.user_id = :user_id AND s.chunks > 0
),
excluded_queries AS MATERIALIZED (
    {{phrase_queries :excluded_folded, :excluded_plain}}
)
SELECT c.chunk_id
FROM unnest(:chunk_ids) AS g (chunk_id)
CROSS JOIN LATERAL (
    SELECT o.chunk_id, o.config, o.tsv
    FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
) AS c
WHERE EXISTS (SELECT FROM excluded_queries AS b WHERE b.config = c.config AND c.tsv @@ b.query)
