-- Makes sure that every name has an entity, whose id comes from the name's key; a title outranks a name from a text.
-- The caller holds the user's lock. Binds: user_id, origin, and one array a column. Columns: none.
-- :user_id text
-- :origin text  title or text
-- :entity_ids uuid[]
-- :keys bytea[]
-- :names text[]
WITH given AS MATERIALIZED (
    SELECT g.* FROM unnest(:entity_ids, :keys, :names) AS g (entity_id, name_key, name) ORDER BY g.entity_id
),
made AS (
    INSERT INTO stepwell.entities AS e (user_id, entity_id, type, name, origin)
    SELECT :user_id, g.entity_id, 'name', g.name, :origin FROM given AS g
    ON CONFLICT (user_id, entity_id) DO UPDATE SET origin = excluded.origin, name = excluded.name
    WHERE e.origin = 'text' AND excluded.origin = 'title'
)
INSERT INTO stepwell.entity_names (user_id, name_key, entity_id, name)
SELECT :user_id, g.name_key, g.entity_id, g.name FROM given AS g
ON CONFLICT (user_id, name_key, entity_id) DO NOTHING
