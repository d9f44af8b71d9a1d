-- Computes the distance of the chunk from the query, and those that it is compared with.
-- Columns: asked_vector: chunk_no, distance; compared: chunk_no, document_id, distance.
-- part vector  the vector leg
-- part filtered  filters on documents
-- :user_id text  owner of the rows
-- :most_compared bigint  maximum number of vectors that are compared
-- if vector
asked_vector AS MATERIALIZED (
    SELECT e.chunk_no, e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
    FROM asked AS a
    JOIN stepwell.embeddings AS e ON e.user_id = :user_id AND e.chunk_no = a.chunk_no
),
compared AS (
-- if filtered
    SELECT a.chunk_no, CAST(NULL AS uuid) AS document_id, a.distance FROM filtered_chunks AS a
    UNION ALL
-- end
    SELECT o.chunk_no, o.document_id, o.distance
    FROM (
        SELECT e.chunk_no, e.document_id, e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
        FROM stepwell.embeddings AS e
        WHERE e.user_id = :user_id
-- if filtered
          AND NOT (SELECT small FROM scope)
-- end
        LIMIT :most_compared
    ) AS o
)
-- end
