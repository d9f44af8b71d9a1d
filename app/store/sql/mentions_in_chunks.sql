-- Counts the mentions of some entities in some chunks. The count is the larger of the mentions in the chunk's text and
-- those of the document (4 for a title, 3 for an attendee, 2 for other metadata, summed).
-- Columns: chunk_id, entity_id, count.
-- :user_id text  owner of the rows
-- :chunk_ids uuid[]  ids of the chunks
-- :entity_ids uuid[]  ids of the entities
-- :given_ids uuid[]  those whose origin is `user` or `metadata`; for others each kind counts 1
SELECT c.chunk_id, m.entity_id, CAST(max(m.count) AS integer) AS count
FROM stepwell.chunks AS c
CROSS JOIN LATERAL (
    (SELECT o.entity_id, CAST(o.count AS bigint) AS count
     FROM stepwell.mentions AS o
     WHERE o.user_id = :user_id AND o.chunk_no = c.chunk_no AND o.kind = 'text' AND o.entity_id = ANY (:entity_ids) OFFSET 0)
    UNION ALL
    (SELECT k.entity_id, sum(CASE WHEN NOT k.entity_id = ANY (:given_ids) THEN 1
                                  WHEN k.kind = 'title' THEN 4 WHEN k.kind = 'attendee' THEN 3 ELSE 2 END)
     FROM (SELECT DISTINCT o.entity_id, o.kind
           FROM stepwell.mentions AS o
           WHERE o.user_id = :user_id AND o.document_id = c.document_id AND o.kind <> 'text' AND o.entity_id = ANY (:entity_ids)
     ) AS k
     GROUP BY k.entity_id)
) AS m
WHERE c.user_id = :user_id AND c.chunk_id = ANY (:chunk_ids)
GROUP BY c.chunk_id, m.entity_id
