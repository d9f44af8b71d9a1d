-- Lists a user's entities with aliases and members as JSON lines, the user's own entities first.
-- Columns: line.
SELECT CAST(json_build_object(
    'entity_id', e.entity_id, 'type', e.type, 'name', e.name, 'origin', e.origin, 'role', e.role, 'facts', e.facts,
    'description', e.description, 'metadata', e.metadata,
    'aliases', ARRAY(
        SELECT n.name FROM stepwell.entity_names AS n
        WHERE n.user_id = :user_id AND n.entity_id = e.entity_id AND n.name <> e.name ORDER BY n.place, n.name
    ),
    'members', ARRAY(
        SELECT m.member_id FROM stepwell.entity_members AS m
        WHERE m.user_id = :user_id AND m.entity_id = e.entity_id ORDER BY m.member_id
    ),
    'created_at', e.created_at, 'updated_at', e.updated_at
) AS text) AS line
FROM stepwell.entities AS e
WHERE e.user_id = :user_id
ORDER BY e.origin <> 'user', e.name, e.entity_id
