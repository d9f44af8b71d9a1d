-- Makes sure that every name has an entity, whose id comes from the name's key; metadata outranks a title, and a title
-- a name from a text, and a person whatever else metadata calls by that name. A user's own entity is left alone.
-- The caller holds the user's lock. Binds: user_id, origin, and one array a column.
-- Columns: entity_id, of those that were made or raised.
-- :user_id text
-- :origin text  metadata, title or text
-- :entity_ids uuid[]
-- :types text[]
-- :keys bytea[]
-- :names text[]
WITH given AS MATERIALIZED (
    SELECT g.* FROM unnest(:entity_ids, :types, :keys, :names) AS g (entity_id, type, name_key, name) ORDER BY g.entity_id
),
made AS (
    INSERT INTO stepwell.entities AS e (user_id, entity_id, type, name, origin)
    SELECT :user_id, g.entity_id, g.type, g.name, :origin FROM given AS g
    ON CONFLICT (user_id, entity_id) DO UPDATE
    SET origin = excluded.origin, name = excluded.name, type = excluded.type
    WHERE array_position(ARRAY['text', 'title', 'metadata'], e.origin)
              < array_position(ARRAY['text', 'title', 'metadata'], excluded.origin)
       OR (e.origin = 'metadata' AND excluded.origin = 'metadata' AND excluded.type = 'person' AND e.type <> 'person')
    RETURNING e.entity_id
),
called AS (
    INSERT INTO stepwell.entity_names (user_id, name_key, entity_id, name)
    SELECT :user_id, g.name_key, g.entity_id, g.name FROM given AS g
    ON CONFLICT (user_id, name_key, entity_id) DO NOTHING
)
SELECT m.entity_id FROM made AS m
