-- Creates or upgrades the entity of each name; the entity's id is derived from the name's key. Origin `metadata` takes
-- precedence over `title`, and `title` over `text`; within `metadata`, the type person takes precedence over other
-- types. Entities of origin `user` are not changed. The caller holds the user's lock.
-- Columns: entity_id of each entity that was created or upgraded.
-- :origin text  metadata, title or text
-- :entity_ids uuid[]  id of each entity
-- :types text[]  type of each entity
-- :keys bytea[]  key of each name
-- :names text[]  each name as written
WITH input_names AS MATERIALIZED (
    SELECT g.* FROM unnest(:entity_ids, :types, :keys, :names) AS g (entity_id, type, name_key, name) ORDER BY g.entity_id
),
upserted_entities AS (
    INSERT INTO stepwell.entities AS e (user_id, entity_id, type, name, origin)
    SELECT :user_id, g.entity_id, g.type, g.name, :origin FROM input_names AS g
    ON CONFLICT (user_id, entity_id) DO UPDATE
    SET origin = excluded.origin, name = excluded.name, type = excluded.type
    WHERE array_position(ARRAY['text', 'title', 'metadata'], e.origin)
              < array_position(ARRAY['text', 'title', 'metadata'], excluded.origin)
       OR (e.origin = 'metadata' AND excluded.origin = 'metadata' AND excluded.type = 'person' AND e.type <> 'person')
    RETURNING e.entity_id
),
inserted_names AS (
    INSERT INTO stepwell.entity_names (user_id, name_key, entity_id, name)
    SELECT :user_id, g.name_key, g.entity_id, g.name FROM input_names AS g
    ON CONFLICT (user_id, name_key, entity_id) DO NOTHING
)
SELECT m.entity_id FROM upserted_entities AS m
