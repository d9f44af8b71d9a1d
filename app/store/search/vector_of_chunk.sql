-- Reads the stored vector of one chunk.
-- Columns: embedding (text).
-- :user_id text  owner of the rows
-- :chunk_id uuid  id of the chunk
SELECT CAST(e.embedding AS text) AS embedding
FROM stepwell.chunks AS c
JOIN stepwell.embeddings AS e ON e.user_id = :user_id AND e.chunk_no = c.chunk_no
WHERE c.user_id = :user_id AND c.chunk_id = :chunk_id
