-- Finds which of some chunks lack a phrase or required word, or contain an excluded word or phrase.
-- Columns: chunk_id.
-- part strict  conditions that every hit must meet: phrases and required words
-- part indexed  conditions of an expression, by configuration
-- part excluding  words and phrases that no hit may contain
-- :chunk_ids uuid[]  ids of the chunks
-- :strict_folded text[]  phrases and required words, accents folded
-- :strict_plain text[]  phrases and required words, accents kept
-- :excluded_folded text[]  words and phrases that no hit may contain, accents folded
-- :excluded_plain text[]  words and phrases that no hit may contain, accents kept
-- :condition_configs text[]  configurations with conditions
-- :condition_queries text[]  the conditions of each as a tsquery
WITH corpus AS MATERIALIZED (
    SELECT coalesce(array_agg(s.config), '{}') AS configs
    FROM stepwell.text_statistics AS s
    WHERE s.user_id = :user_id AND s.chunks > 0
),
-- if strict
strict_queries AS MATERIALIZED (
-- if indexed
    SELECT p.config, CAST(p.query AS tsquery) AS query FROM unnest(:condition_configs, :condition_queries) AS p (config, query)
-- end
-- unless indexed
    {{phrase_queries :strict_folded, :strict_plain}}
-- end
),
-- end
-- if excluding
excluded_queries AS MATERIALIZED (
    {{phrase_queries :excluded_folded, :excluded_plain}}
),
-- end
asked AS MATERIALIZED (
    SELECT c.*
    FROM unnest(:chunk_ids) AS g (chunk_id)
    CROSS JOIN LATERAL (
        SELECT o.chunk_id, o.config, o.tsv
        FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
    ) AS c
)
SELECT c.chunk_id
FROM asked AS c
WHERE false
-- if strict
   OR EXISTS (SELECT FROM strict_queries AS b WHERE b.config = c.config AND NOT c.tsv @@ b.query)
-- end
-- if excluding
   OR EXISTS (SELECT FROM excluded_queries AS b WHERE b.config = c.config AND c.tsv @@ b.query)
-- end
