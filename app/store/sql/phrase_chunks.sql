-- Which chunks hold this phrase? The rarest of its words nominates, because `@@` has no index under row-level security.
-- Columns: chunk_no, document_id, content.
-- :user_id text  whose chunks
-- :document_id uuid  the document that is left out
-- :folded text  the phrase, accents folded
-- :plain text  the same, accents kept
-- :limit bigint  a name in more chunks than this leads nowhere
WITH queries AS MATERIALIZED (
    SELECT s.config, q.query, CASE WHEN s.config IN ('english', 'simple') THEN :folded ELSE :plain END AS phrase
    FROM stepwell.text_statistics AS s
    CROSS JOIN LATERAL phraseto_tsquery(
        CAST(s.config AS regconfig), CASE WHEN s.config IN ('english', 'simple') THEN :folded ELSE :plain END) AS q (query)
    WHERE s.user_id = :user_id AND s.chunks > 0 AND numnode(q.query) > 0
),
rarest AS MATERIALIZED (
    SELECT q.config, q.query, r.lexeme
    FROM queries AS q
    CROSS JOIN LATERAL (
        SELECT w.lexeme, coalesce(l.df, 0) AS df
        FROM unnest(tsvector_to_array(to_tsvector(CAST(q.config AS regconfig), q.phrase))) AS w (lexeme)
        LEFT JOIN stepwell.lexemes AS l ON l.user_id = :user_id AND l.lexeme = w.lexeme COLLATE "C"
        ORDER BY coalesce(l.df, 0), w.lexeme
        LIMIT 1
    ) AS r
)
SELECT c.chunk_no, c.document_id, c.content
FROM rarest AS r
JOIN stepwell.postings AS p ON p.user_id = :user_id AND p.lexeme = r.lexeme COLLATE "C"
CROSS JOIN LATERAL unnest(p.items) AS i (item)
JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = i.item >> 24 AND c.config = r.config
WHERE c.document_id <> :document_id AND c.tsv @@ r.query
LIMIT :limit
