-- Adds aliases of entities of origin `metadata`; those of other entities are left out.
-- Columns: name_key, name of each alias that is new.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  entity of each alias
-- :keys bytea[]  key of each alias
-- :names text[]  each alias as written
INSERT INTO stepwell.entity_names (user_id, name_key, entity_id, name, place)
SELECT :user_id, g.name_key, g.entity_id, g.name, 1
FROM unnest(:entity_ids, :keys, :names) AS g (entity_id, name_key, name)
WHERE EXISTS (
    SELECT FROM stepwell.entities AS e WHERE e.user_id = :user_id AND e.entity_id = g.entity_id AND e.origin = 'metadata')
ON CONFLICT (user_id, name_key, entity_id) DO NOTHING
RETURNING name_key, name
