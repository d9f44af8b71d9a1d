-- Computes the difference between a user's text statistics and the stored chunks. Concurrent writes do not change the
-- difference, since they change both sides equally.
-- Columns: config, chunks and tokens (amounts to add to the statistics).
WITH stored AS (
    SELECT c.config, count(*) AS chunks, sum(c.length) AS tokens
    FROM stepwell.chunks AS c
    WHERE c.user_id = :user_id
    GROUP BY c.config
),
counted AS (
    SELECT s.config, s.chunks, s.tokens FROM stepwell.text_statistics AS s WHERE s.user_id = :user_id
),
differences AS (
    SELECT config, coalesce(s.chunks, 0) - coalesce(c.chunks, 0) AS chunks,
           coalesce(s.tokens, 0) - coalesce(c.tokens, 0) AS tokens
    FROM stored AS s FULL JOIN counted AS c USING (config)
)
SELECT config, CAST(chunks AS bigint) AS chunks, CAST(tokens AS bigint) AS tokens
FROM differences
WHERE chunks <> 0 OR tokens <> 0
