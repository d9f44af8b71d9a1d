-- Derives a user's text statistics from the chunks.
-- Columns: none.
-- :user_id text
INSERT INTO stepwell.text_statistics (user_id, config, chunks, tokens)
SELECT :user_id, c.config, count(*), sum(c.length)
FROM stepwell.chunks AS c
WHERE c.user_id = :user_id
GROUP BY c.config
