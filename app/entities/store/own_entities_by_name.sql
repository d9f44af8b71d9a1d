-- Finds the user's own entities by type and name.
-- Columns: type, name_key, entity_id.
-- :types text[]  type of each entity
-- :keys bytea[]  key of each entity's name
SELECT g.type, g.name_key, n.entity_id
FROM unnest(:types, :keys) AS g (type, name_key)
CROSS JOIN LATERAL (
    SELECT o.entity_id FROM stepwell.entity_names AS o
    WHERE o.user_id = :user_id AND o.name_key = g.name_key AND o.place = 0 OFFSET 0
) AS n
CROSS JOIN LATERAL (
    SELECT o.type, o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
) AS e
WHERE e.type = g.type AND e.origin = 'user'
