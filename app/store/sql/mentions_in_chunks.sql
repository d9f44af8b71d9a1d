-- Counts the mentions of some entities in some chunks: those in the text, or those of the whole document if they count
-- more (a title as four mentions, an attendee as three, other metadata as two, added up).
-- Columns: chunk_id, entity_id, count.
-- :user_id text
-- :chunk_ids uuid[]
-- :entity_ids uuid[]
-- :given_ids uuid[]  those of them that users or metadata gave; a title that only names itself counts once
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
