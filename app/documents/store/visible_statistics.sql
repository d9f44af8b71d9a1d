-- Reads the text statistics of a user's visible chunks.
-- Columns: config, chunks, tokens; one row per text-search configuration with chunks.
SELECT s.config, s.chunks - coalesce(h.chunks, 0) AS chunks, s.tokens - coalesce(h.tokens, 0) AS tokens
FROM stepwell.text_statistics AS s
LEFT JOIN (
    SELECT o.config, CAST(sum(o.last_no - o.first_no + 1) AS bigint) AS chunks, CAST(sum(o.tokens) AS bigint) AS tokens
    FROM stepwell.hidden_chunks AS o
    WHERE o.user_id = :user_id
    GROUP BY o.config
) AS h ON h.config = s.config
WHERE s.user_id = :user_id AND s.chunks > coalesce(h.chunks, 0)
