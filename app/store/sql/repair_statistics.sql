-- Adds differences to a user's text statistics. The caller holds the user's lock.
-- Columns: none.
-- :user_id text
-- :configs text[]
-- :chunks bigint[]
-- :tokens bigint[]
INSERT INTO stepwell.text_statistics AS s (user_id, config, chunks, tokens)
SELECT :user_id, g.config, g.chunks, g.tokens
FROM unnest(:configs, :chunks, :tokens) AS g (config, chunks, tokens)
ON CONFLICT (user_id, config) DO UPDATE SET chunks = s.chunks + excluded.chunks, tokens = s.tokens + excluded.tokens
