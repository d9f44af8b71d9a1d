-- How near are these chunks to a question, and to each other?
-- Columns: chunk_id, in the order given and without those that have no vector; similarity (null without a question);
-- alike (the cosines to the chunks of all rows, in their order).
-- :user_id text  whose chunks
-- :chunk_ids uuid[]  which
-- :embedding text::vector  the question's; null: none
WITH chosen AS MATERIALIZED (
    SELECT g.chunk_id, g.place, e.embedding
    FROM unnest(:chunk_ids) WITH ORDINALITY AS g (chunk_id, place)
    CROSS JOIN LATERAL (
        SELECT o.chunk_no FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
    ) AS c
    CROSS JOIN LATERAL (
        SELECT o.embedding FROM stepwell.embeddings AS o WHERE o.user_id = :user_id AND o.chunk_no = c.chunk_no LIMIT 1
    ) AS e
)
SELECT o.chunk_id, 1 - (o.embedding <=> :embedding) AS similarity
-- if alike
       , ARRAY(SELECT 1 - (p.embedding <=> o.embedding) FROM chosen AS p ORDER BY p.place) AS alike
-- end
FROM chosen AS o
ORDER BY o.place
