-- Adds the chunks of documents to the text statistics of their configurations, or subtracts them.
-- Columns: config.
-- :sign bigint  1 adds, -1 subtracts
-- :document_ids uuid[]  the documents
INSERT INTO stepwell.text_statistics AS s (user_id, config, chunks, tokens)
SELECT :user_id, c.config, :sign * count(*), :sign * sum(c.length)
FROM stepwell.chunks AS c
WHERE c.user_id = :user_id AND c.document_id = ANY (:document_ids)
GROUP BY c.config
ON CONFLICT (user_id, config) DO UPDATE SET chunks = s.chunks + excluded.chunks, tokens = s.tokens + excluded.tokens
RETURNING config
