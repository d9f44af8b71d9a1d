-- Stores entities that a user gave, new ones and new versions.
-- The caller holds the user's lock. Binds: user_id, and one array a column. Columns: none.
-- :user_id text
-- :entity_ids uuid[]
-- :types text[]
-- :names text[]
-- :roles text[]
-- :facts text[]  JSON lists
-- :descriptions text[]
-- :metadata text[]  JSON objects
INSERT INTO stepwell.entities AS e (user_id, entity_id, type, name, origin, role, facts, description, metadata)
SELECT :user_id, g.entity_id, g.type, g.name, 'user', g.role, CAST(g.facts AS jsonb), g.description, CAST(g.metadata AS jsonb)
FROM unnest(:entity_ids, :types, :names, :roles, :facts, :descriptions, :metadata)
    AS g (entity_id, type, name, role, facts, description, metadata)
ON CONFLICT (user_id, entity_id) DO UPDATE
SET type = excluded.type, name = excluded.name, role = excluded.role, facts = excluded.facts,
    description = excluded.description, metadata = excluded.metadata, updated_at = excluded.updated_at
