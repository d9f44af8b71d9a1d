-- How near are these chunks to a question, and to each other?
-- Columns: chunk_id, in the order given and without those that have no vector; similarity (null without a question);
-- alike (the cosines to the chunks of all rows, in their order).
-- :user_id text  whose chunks
-- :chunk_ids uuid[]  which
-- :embedding text::vector  the question's; null: none
WITH chosen AS MATERIALIZED (
    SELECT g.chunk_id, g.place, e.embedding
    FROM unnest(:chunk_ids) WITH ORDINALITY AS g (chunk_id, place)
    JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_id = g.chunk_id
    JOIN stepwell.embeddings AS e ON e.user_id = :user_id AND e.chunk_no = c.chunk_no
)
SELECT o.chunk_id, 1 - (o.embedding <=> :embedding) AS similarity
-- if alike
       , ARRAY(SELECT 1 - (p.embedding <=> o.embedding) FROM chosen AS p ORDER BY p.place) AS alike
-- end
FROM chosen AS o
ORDER BY o.place
