-- How often do these chunks mention these entities? A chunk's text counts as often as it does; what speaks for the whole
-- document counts in each of its chunks: a title as four mentions, an attendee as three, other metadata as two.
-- Columns: chunk_id, entity_id, count.
-- :user_id text
-- :chunk_ids uuid[]
-- :entity_ids uuid[]
-- :given_ids uuid[]  those of them that users or metadata gave; a title that only names itself counts once
SELECT c.chunk_id, m.entity_id, CAST(sum(m.count) AS integer) AS count
FROM stepwell.chunks AS c
CROSS JOIN LATERAL (
    (SELECT o.entity_id, o.count
     FROM stepwell.mentions AS o
     WHERE o.user_id = :user_id AND o.chunk_no = c.chunk_no AND o.kind = 'text' AND o.entity_id = ANY (:entity_ids) OFFSET 0)
    UNION ALL
    (SELECT DISTINCT o.entity_id, CASE WHEN NOT o.entity_id = ANY (:given_ids) THEN 1 WHEN o.kind = 'title' THEN 4 WHEN o.kind = 'attendee' THEN 3 ELSE 2 END
     FROM stepwell.mentions AS o
     WHERE o.user_id = :user_id AND o.document_id = c.document_id AND o.kind <> 'text' AND o.entity_id = ANY (:entity_ids)
     OFFSET 0)
) AS m
WHERE c.user_id = :user_id AND c.chunk_id = ANY (:chunk_ids)
GROUP BY c.chunk_id, m.entity_id
