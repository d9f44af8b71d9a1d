-- How often do these chunks mention these entities? A title or an attendee counts once for the chunk that holds it.
-- Columns: chunk_id, entity_id, count.
-- :user_id text
-- :chunk_ids uuid[]
-- :entity_ids uuid[]
SELECT c.chunk_id, m.entity_id, CAST(sum(m.count) AS integer) AS count
FROM stepwell.chunks AS c
CROSS JOIN LATERAL (
    SELECT o.entity_id, o.count
    FROM stepwell.mentions AS o
    WHERE o.user_id = :user_id AND o.chunk_no = c.chunk_no AND o.entity_id = ANY (:entity_ids) OFFSET 0
) AS m
WHERE c.user_id = :user_id AND c.chunk_id = ANY (:chunk_ids)
GROUP BY c.chunk_id, m.entity_id
