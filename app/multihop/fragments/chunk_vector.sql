-- Selects the stored vector of a row's chunk by its key.
-- $row  alias of a row with chunk_no
SELECT o.embedding FROM stepwell.embeddings AS o WHERE o.user_id = :user_id AND o.chunk_no = $row.chunk_no LIMIT 1
