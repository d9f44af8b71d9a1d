-- Subtracts hidden chunks without postings from the text statistics, and deletes their rows.
-- Columns: config.
-- :job_id uuid  the job that removed their postings
WITH forgotten AS (
    DELETE FROM stepwell.hidden_chunks AS h
    WHERE h.user_id = :user_id AND h.job_id = :job_id
    RETURNING h.config, h.last_no - h.first_no + 1 AS chunks, h.tokens
),
counted AS MATERIALIZED (
    SELECT f.config, sum(f.chunks) AS chunks, sum(f.tokens) AS tokens FROM forgotten AS f GROUP BY f.config
)
UPDATE stepwell.text_statistics AS s SET chunks = s.chunks - c.chunks, tokens = s.tokens - c.tokens
FROM counted AS c
WHERE s.user_id = :user_id AND s.config = c.config
RETURNING s.config
