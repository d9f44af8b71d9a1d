-- Computes the cosine similarity of chunks to a query vector and to each other.
-- Columns: chunk_id (in the given order, without chunks that have no vector), similarity (null without a query vector),
--   similarities (to the chunks of all rows, in their order; part matrix).
-- part matrix  similarities of the chunks to each other
-- :chunk_ids uuid[]  ids of the chunks
WITH query_vector AS MATERIALIZED (
    {{query_vector}}
),
chunk_vectors AS MATERIALIZED (
    SELECT g.chunk_id, g.place, e.embedding
    FROM unnest(:chunk_ids) WITH ORDINALITY AS g (chunk_id, place)
    CROSS JOIN LATERAL (
        SELECT o.chunk_no FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
    ) AS c
    CROSS JOIN LATERAL (
        SELECT o.embedding FROM stepwell.embeddings AS o WHERE o.user_id = :user_id AND o.chunk_no = c.chunk_no LIMIT 1
    ) AS e
)
SELECT o.chunk_id, 1 - (o.embedding <=> (SELECT q.vector FROM query_vector AS q)) AS similarity
-- if matrix
       , ARRAY(SELECT 1 - (p.embedding <=> o.embedding) FROM chunk_vectors AS p ORDER BY p.place) AS similarities
-- end
FROM chunk_vectors AS o
ORDER BY o.place
