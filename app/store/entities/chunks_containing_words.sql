-- Finds the chunks that may contain one of some names, through the postings of the rarest lexeme of each name. Chunks
-- in languages whose index keeps accents are all candidates, since names match without accents.
-- Columns: chunk_no; null if a name has no indexed lexeme, in which case any chunk may contain it.
-- :user_id text  owner of the rows
-- :names text[]  the words of each name, accents folded
WITH configs AS MATERIALIZED (
    SELECT s.config FROM stepwell.text_statistics AS s WHERE s.user_id = :user_id AND s.chunks > 0
),
rarest AS MATERIALIZED (
    SELECT DISTINCT {{rarest_lexeme s.config, g.name}} AS lexeme
    FROM unnest(:names) AS g (name)
    CROSS JOIN configs AS s
    WHERE s.config IN ('english', 'simple')
),
candidates AS (
    SELECT {{posting_chunk unnest(p.items)}} AS chunk_no
    FROM rarest AS r
    CROSS JOIN LATERAL (
        {{posting_blocks r.lexeme COLLATE "C"}}
    ) AS p
    UNION ALL
    SELECT CAST(NULL AS bigint) FROM rarest AS r WHERE r.lexeme IS NULL
    UNION ALL
    SELECT c.chunk_no FROM stepwell.chunks AS c
    WHERE c.user_id = :user_id AND c.config NOT IN ('english', 'simple')
      AND EXISTS (SELECT FROM configs AS s WHERE s.config NOT IN ('english', 'simple'))
)
SELECT DISTINCT n.chunk_no FROM candidates AS n
