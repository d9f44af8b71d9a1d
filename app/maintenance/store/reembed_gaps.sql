-- Counts the chunks without a vector of the next model, for each user who lacks such vectors; 0 if only entities lack
-- them. Requires the database's owner.
-- Columns: user_id, chunks.
SELECT g.user_id, CAST(sum(g.chunks) AS bigint) AS chunks
FROM (
    SELECT c.user_id, count(*) AS chunks
    FROM stepwell.chunks AS c
    WHERE NOT EXISTS (SELECT FROM stepwell.embeddings_next AS n WHERE n.user_id = c.user_id AND n.chunk_no = c.chunk_no)
    GROUP BY c.user_id
    UNION ALL
    SELECT e.user_id, 0
    FROM stepwell.entities AS e
    WHERE e.origin = 'user' AND {{description_of_entity e}} <> '' AND NOT EXISTS (
        SELECT FROM stepwell.entity_vectors_next AS n WHERE n.user_id = e.user_id AND n.entity_id = e.entity_id)
    GROUP BY e.user_id
) AS g
GROUP BY g.user_id
ORDER BY g.user_id
