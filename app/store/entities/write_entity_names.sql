-- Stores the names and aliases of entities with their positions.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  entity of each name
-- :places integer[]  position of each name: 0 is the name, the others are aliases
-- :keys bytea[]  key of each name
-- :names text[]  each name as written
INSERT INTO stepwell.entity_names (user_id, name_key, entity_id, name, place)
SELECT :user_id, g.name_key, g.entity_id, g.name, g.place
FROM unnest(:entity_ids, :places, :keys, :names) AS g (entity_id, place, name_key, name)
ON CONFLICT (user_id, name_key, entity_id) DO NOTHING
