-- Which of a user's chunks are truly nearest, among those whose document's metadata contain something?
-- The sum as sort key keeps the HNSW index out.
-- Columns: chunk_id.
-- :user_id text
-- :embedding text::vector
-- :containing text::jsonb
-- :limit bigint
WITH nearest AS MATERIALIZED (
    SELECT e.chunk_no, (e.embedding <=> :embedding) + 0 AS distance
    FROM stepwell.embeddings AS e
    WHERE e.user_id = :user_id AND (:containing = '{}' OR e.document_id IN (
        SELECT d.document_id FROM stepwell.documents AS d WHERE d.user_id = :user_id AND d.metadata @> :containing))
    ORDER BY distance
    LIMIT :limit
)
SELECT c.chunk_id
FROM nearest AS n
JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = n.chunk_no
ORDER BY n.distance
