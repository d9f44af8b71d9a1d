-- Inserts or replaces entities of origin `user`. The arrays are parallel. The caller holds the user's lock.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  ids
-- :types text[]  types
-- :names text[]  names
-- :roles text[]  roles
-- :facts text[]  facts as JSON arrays
-- :descriptions text[]  descriptions
-- :metadata text[]  metadata as JSON objects
INSERT INTO stepwell.entities AS e (user_id, entity_id, type, name, origin, role, facts, description, metadata)
SELECT :user_id, g.entity_id, g.type, g.name, 'user', g.role, CAST(g.facts AS jsonb), g.description, CAST(g.metadata AS jsonb)
FROM unnest(:entity_ids, :types, :names, :roles, :facts, :descriptions, :metadata)
    AS g (entity_id, type, name, role, facts, description, metadata)
ON CONFLICT (user_id, entity_id) DO UPDATE
SET type = excluded.type, name = excluded.name, role = excluded.role, facts = excluded.facts,
    description = excluded.description, metadata = excluded.metadata, updated_at = excluded.updated_at
