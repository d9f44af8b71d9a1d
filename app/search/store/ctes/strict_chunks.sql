-- Selects the chunks that may meet the conditions of the query. For phrases and required words, these are the chunks
-- whose postings have all of the words; for an expression, the chunks that the text index finds. The legs then test the
-- conditions themselves, in the order of their scores.
-- Columns: strict_queries: config, query; strict_scope: nominated (false: strict_chunks does not apply); strict_chunks:
--   chunk_no; strict_size: few (true: the vectors of strict_chunks are scanned exactly).
-- part strict  conditions that every hit must meet: phrases and required words
-- part indexed  conditions of an expression, by configuration
-- part filtered  filters on documents
-- :strict_folded text[]  phrases and required words, accents folded
-- :strict_plain text[]  phrases and required words, accents kept
-- :condition_configs text[]  configurations with conditions
-- :condition_queries text[]  the conditions of each as a tsquery
-- :condition_wanted text::tsquery  finds the chunks of all configurations that meet their conditions
-- :condition_nominates boolean  whether it finds all of them
-- :most_tested bigint  scopes up to this many chunks are tested chunk by chunk, without the index
-- if strict
-- if indexed
strict_queries AS MATERIALIZED (
    SELECT p.config, CAST(p.query AS tsquery) AS query FROM unnest(:condition_configs, :condition_queries) AS p (config, query)
),
strict_scope AS MATERIALIZED (
    SELECT :condition_nominates AS nominated
),
strict_chunks AS MATERIALIZED (
    SELECT c.chunk_no
    FROM stepwell.chunks AS c
    WHERE c.user_id = :user_id AND :condition_nominates AND c.tsv @@ :condition_wanted
      AND NOT EXISTS (SELECT FROM strict_queries AS b WHERE b.config = c.config AND NOT c.tsv @@ b.query)
-- if filtered
      AND NOT (SELECT s.chunks <= :most_tested FROM scope AS s)
    UNION ALL
    SELECT c.chunk_no
    FROM filtered_chunks AS a
    CROSS JOIN LATERAL (
        SELECT o.chunk_no, o.config, o.tsv
        FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = a.chunk_no LIMIT 1
    ) AS c
    WHERE (SELECT s.chunks <= :most_tested FROM scope AS s) AND :condition_nominates AND c.tsv @@ :condition_wanted
      AND NOT EXISTS (SELECT FROM strict_queries AS b WHERE b.config = c.config AND NOT c.tsv @@ b.query)
-- end
),
-- end
-- unless indexed
strict_queries AS MATERIALIZED (
    SELECT p.config, CAST(string_agg('(' || CAST(p.query AS text) || ')', ' & ') AS tsquery) AS query
    FROM (
        {{phrase_queries :strict_folded, :strict_plain}}
    ) AS p
    GROUP BY p.config
),
-- the chunks of a configuration that drops all of the words need nothing, so that none can be left out
strict_scope AS MATERIALIZED (
    SELECT NOT EXISTS (SELECT unnest(u.configs) EXCEPT SELECT q.config FROM strict_queries AS q) AS nominated
    FROM corpus AS u
),
strict_words AS MATERIALIZED (
    SELECT q.config, w.lexeme COLLATE "C" AS lexeme, count(*) OVER of_config AS needed, row_number() OVER rarest_first AS place
    FROM strict_queries AS q
    CROSS JOIN LATERAL (
        SELECT DISTINCT t.lexeme
        FROM unnest(:strict_folded, :strict_plain) AS p (folded, plain)
        CROSS JOIN LATERAL unnest(to_tsvector(CAST(q.config AS regconfig), {{text_for q.config, p.folded, p.plain}})) AS t
    ) AS w
    LEFT JOIN LATERAL (
        {{document_frequency w.lexeme COLLATE "C"}}
    ) AS l ON true
    WHERE (SELECT nominated FROM strict_scope)
    WINDOW of_config AS (PARTITION BY q.config), rarest_first AS (PARTITION BY q.config ORDER BY coalesce(l.df, 0), w.lexeme)
),
rarest_chunks AS MATERIALIZED (
    SELECT r.config, r.needed, {{posting_chunk unnest(p.items)}} AS chunk_no
    FROM strict_words AS r
    CROSS JOIN LATERAL (
        {{posting_blocks r.lexeme}}
    ) AS p
    WHERE r.place = 1
),
strict_chunks AS MATERIALIZED (
    SELECT r.chunk_no FROM rarest_chunks AS r WHERE r.needed = 1
    UNION ALL
    SELECT o.chunk_no
    FROM (
        SELECT r.config, r.needed, {{posting_chunk unnest(p.items)}} AS chunk_no
        FROM strict_words AS r
        CROSS JOIN LATERAL (
            {{posting_blocks r.lexeme}}
        ) AS p
        WHERE r.place > 1
    ) AS o
    WHERE (o.config, o.chunk_no) IN (SELECT r.config, r.chunk_no FROM rarest_chunks AS r)
    GROUP BY o.config, o.needed, o.chunk_no
    HAVING count(*) = o.needed - 1
),
-- end
strict_size AS MATERIALIZED (
    SELECT s.nominated AND (SELECT count(*) FROM strict_chunks) <= c.most AS few
    FROM strict_scope AS s CROSS JOIN costs AS c
)
-- end
