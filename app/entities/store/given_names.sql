-- Finds which of some word sequences are titles, or headings of several words.
-- LATERAL with OFFSET or LIMIT forces look-ups by key, independent of the planner's statistics.
-- Columns: name_key, entity_id.
-- :keys bytea[]  keys of the word sequences of a text
SELECT n.name_key, n.entity_id
FROM unnest(:keys) AS g (name_key)
CROSS JOIN LATERAL (
    SELECT o.name_key, o.entity_id
    FROM stepwell.entity_names AS o WHERE o.user_id = :user_id AND o.name_key = g.name_key OFFSET 0
) AS n
CROSS JOIN LATERAL (
    SELECT o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
) AS e
WHERE e.origin IN ('title', 'text')
  AND ((SELECT true FROM stepwell.mentions AS m
        WHERE m.user_id = :user_id AND m.entity_id = n.entity_id AND m.kind = 'title' LIMIT 1)
    OR position(' '::bytea IN n.name_key) > 0 AND (SELECT true FROM stepwell.headings AS h
        WHERE h.user_id = :user_id AND h.entity_id = n.entity_id LIMIT 1))
