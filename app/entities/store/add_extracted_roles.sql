-- Adds the roles of entities of origin `metadata` that have none, with their look-up keys.
-- Columns: none.
-- :entity_ids uuid[]  entity of each role
-- :roles text[]  roles
-- :keys text[]  look-up key of each role
WITH changed AS (
    UPDATE stepwell.entities AS e SET role = g.role
    FROM unnest(:entity_ids, :roles, :keys) AS g (entity_id, role, key)
    WHERE e.user_id = :user_id AND e.entity_id = g.entity_id AND e.origin = 'metadata' AND e.role IS NULL
    RETURNING e.entity_id, g.key
)
INSERT INTO stepwell.entity_words (user_id, lexeme, entity_id)
SELECT :user_id, c.key, c.entity_id FROM changed AS c
ON CONFLICT (user_id, lexeme, entity_id) DO NOTHING
