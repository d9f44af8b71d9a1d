-- Finds the chunks that contain the rarest lexeme of a name, by its postings, and the names without a lexeme.
-- Reads only the configurations whose index folds accents and does not cut words off.
-- Columns: chunk_no; place (of a name without lexemes, from 1 on); one of them is null.
-- :indexed text[]  words of each name
-- :befores bigint[]  the number of the first chunk that is not searched for each name
WITH wanted AS MATERIALIZED (
    SELECT g.place, g.before, (
        SELECT w.lexeme
        FROM unnest(tsvector_to_array(to_tsvector(CAST(s.config AS regconfig), g.indexed))) AS w (lexeme)
        LEFT JOIN LATERAL (
            {{document_frequency w.lexeme COLLATE "C"}}
        ) AS l ON true
        ORDER BY coalesce(l.df, 0), w.lexeme
        LIMIT 1
    ) AS lexeme
    FROM unnest(:indexed, :befores) WITH ORDINALITY AS g (indexed, before, place)
    CROSS JOIN stepwell.text_statistics AS s
    WHERE s.user_id = :user_id AND s.chunks > 0 AND s.config IN ('english', 'simple')
)
SELECT DISTINCT n.chunk_no, CAST(NULL AS bigint) AS place
FROM (
    SELECT w.before, {{posting_chunk unnest(b.items)}} AS chunk_no
    FROM (SELECT o.lexeme, max(o.before) AS before FROM wanted AS o GROUP BY o.lexeme) AS w
    CROSS JOIN LATERAL (
        {{posting_blocks w.lexeme COLLATE "C"}}
    ) AS b
) AS n
WHERE n.chunk_no < n.before
UNION ALL
SELECT DISTINCT CAST(NULL AS bigint), w.place FROM wanted AS w WHERE w.lexeme IS NULL
