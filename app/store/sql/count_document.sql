-- Adds a document's chunks to (sign 1) or takes them from (sign -1) the text statistics of its configuration.
-- Binds: user_id, document_id, sign. Columns: config.
-- :user_id text
-- :sign bigint
-- :document_id uuid
INSERT INTO stepwell.text_statistics AS s (user_id, config, chunks, tokens)
SELECT :user_id, c.config, :sign * count(*), :sign * sum(c.length)
FROM stepwell.chunks AS c
WHERE c.user_id = :user_id AND c.document_id = :document_id
GROUP BY c.config
ON CONFLICT (user_id, config) DO UPDATE SET chunks = s.chunks + excluded.chunks, tokens = s.tokens + excluded.tokens
RETURNING config
