-- Selects the given entities and their members, three levels deep, which also ends cycles. The least level counts.
-- :entity_ids uuid[]  the given entities
SELECT w.given_id, w.entity_id, min(w.level) AS level
FROM (
    WITH RECURSIVE walked (given_id, entity_id, level) AS (
        SELECT g.entity_id, g.entity_id, 0 FROM unnest(:entity_ids) AS g (entity_id)
        UNION
        SELECT w.given_id, m.member_id, w.level + 1
        FROM walked AS w
        CROSS JOIN LATERAL (
            SELECT o.member_id FROM stepwell.entity_members AS o WHERE o.user_id = :user_id AND o.entity_id = w.entity_id OFFSET 0
        ) AS m
        WHERE w.level < 3
    )
    SELECT walked.given_id, walked.entity_id, walked.level FROM walked
) AS w
GROUP BY w.given_id, w.entity_id
