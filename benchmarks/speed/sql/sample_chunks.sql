-- What do some of a user's chunks say, and what are their vectors?
-- Columns: content, embedding (text).
-- :user_id text
-- :numbers bigint[]
SELECT c.content, CAST(e.embedding AS text) AS embedding
FROM stepwell.chunks AS c
JOIN stepwell.embeddings AS e ON e.user_id = :user_id AND e.chunk_no = c.chunk_no
WHERE c.user_id = :user_id AND c.chunk_no = ANY (:numbers)
ORDER BY c.chunk_no
