-- Adds differences to a user's text statistics. The caller holds the user's lock.
-- Columns: none.
-- :user_id text  owner of the rows
-- :configs text[]  text-search configurations
-- :chunks bigint[]  number of chunks to add
-- :tokens bigint[]  number of tokens to add
INSERT INTO stepwell.text_statistics AS s (user_id, config, chunks, tokens)
SELECT :user_id, g.config, g.chunks, g.tokens
FROM unnest(:configs, :chunks, :tokens) AS g (config, chunks, tokens)
ON CONFLICT (user_id, config) DO UPDATE SET chunks = s.chunks + excluded.chunks, tokens = s.tokens + excluded.tokens
