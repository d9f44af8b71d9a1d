-- The stored vector of a row's chunk, looked up by its key.
-- $row  alias of a row with chunk_no
-- :user_id text
SELECT o.embedding FROM stepwell.embeddings AS o WHERE o.user_id = :user_id AND o.chunk_no = $row.chunk_no LIMIT 1
