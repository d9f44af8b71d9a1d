-- Finds the entities that have one of some names or aliases, the user's own entities first. An automatic entity is
-- omitted if the user has an own entity of the same name.
-- Columns: name_key, entity_id.
-- :keys bytea[]  keys of the names
WITH matches AS MATERIALIZED (
    SELECT n.name_key, n.entity_id, n.place, e.origin
    FROM unnest(:keys) AS g (name_key)
    CROSS JOIN LATERAL (
        SELECT o.name_key, o.entity_id, o.place
        FROM stepwell.entity_names AS o WHERE o.user_id = :user_id AND o.name_key = g.name_key OFFSET 0
    ) AS n
    CROSS JOIN LATERAL (
        SELECT o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
    ) AS e
    WHERE e.origin <> 'text'
)
SELECT f.name_key, f.entity_id
FROM matches AS f
WHERE f.origin = 'user' OR f.name_key NOT IN (SELECT o.name_key FROM matches AS o WHERE o.origin = 'user')
ORDER BY f.origin <> 'user', f.place, f.entity_id
