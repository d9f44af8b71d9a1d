-- Hides numbered staged chunks, and adds them to the text statistics of their configuration.
-- Columns: config.
-- :user_id text  owner of the rows
-- :job_id uuid  the job that stores the document
-- :config text  text-search configuration
-- :first_no bigint  number of the first chunk
-- :last_no bigint  number of the last chunk
WITH counted AS MATERIALIZED (
    SELECT count(*) AS chunks, coalesce(sum(s.length), 0) AS tokens
    FROM stepwell.staged_chunks AS s
    WHERE s.user_id = :user_id AND s.job_id = :job_id AND s.chunk_no BETWEEN :first_no AND :last_no
),
hidden AS (
    INSERT INTO stepwell.hidden_chunks (user_id, first_no, last_no, config, tokens, job_id)
    SELECT :user_id, :first_no, :last_no, :config, c.tokens, :job_id FROM counted AS c
    RETURNING first_no
)
INSERT INTO stepwell.text_statistics AS s (user_id, config, chunks, tokens)
SELECT :user_id, :config, c.chunks, c.tokens FROM counted AS c
ON CONFLICT (user_id, config) DO UPDATE SET chunks = s.chunks + excluded.chunks, tokens = s.tokens + excluded.tokens
RETURNING config
