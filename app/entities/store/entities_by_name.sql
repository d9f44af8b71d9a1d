-- Finds entities by their names and aliases, the user's own entities first. An automatic entity is omitted if the user
-- has added one with the same name.
-- Columns: name_key, entity_id.
WITH matches AS MATERIALIZED (
    SELECT n.name_key, n.entity_id, n.place, e.origin
    FROM {{names_by_key}}
    WHERE e.origin <> 'text'
)
SELECT f.name_key, f.entity_id
FROM matches AS f
WHERE f.origin = 'user' OR f.name_key NOT IN (SELECT o.name_key FROM matches AS o WHERE o.origin = 'user')
ORDER BY f.origin <> 'user', f.place, f.entity_id
