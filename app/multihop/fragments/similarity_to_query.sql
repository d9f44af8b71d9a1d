-- Selects the cosine similarity of a chunk to the vector in `query_vector`, as `similarity`; null without a vector.
-- $row  alias of a row with chunk_no
SELECT 1 - (o.embedding <=> (SELECT a.vector FROM query_vector AS a)) AS similarity
    FROM stepwell.embeddings AS o WHERE o.user_id = :user_id AND o.chunk_no = $row.chunk_no LIMIT 1
