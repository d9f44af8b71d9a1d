-- Stores names and aliases of entities, in their order. Binds: user_id, and one array a column. Columns: none.
-- :user_id text
-- :entity_ids uuid[]
-- :places integer[]  0 is the name, the others are aliases
-- :keys bytea[]
-- :names text[]
INSERT INTO stepwell.entity_names (user_id, name_key, entity_id, name, place)
SELECT :user_id, g.name_key, g.entity_id, g.name, g.place
FROM unnest(:entity_ids, :places, :keys, :names) AS g (entity_id, place, name_key, name)
ON CONFLICT (user_id, name_key, entity_id) DO NOTHING
