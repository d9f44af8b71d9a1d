-- Stores the lexemes of entities' facts, and the look-up keys of their roles.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  ids of the entities
-- :texts text[]  facts as indexed text
-- :roles text[]  look-up key of each role, empty without one
INSERT INTO stepwell.entity_words (user_id, lexeme, entity_id)
SELECT :user_id, w.lexeme, g.entity_id
FROM unnest(:entity_ids, :texts, :roles) AS g (entity_id, facts, role)
CROSS JOIN LATERAL (
    SELECT t.lexeme FROM unnest(tsvector_to_array(to_tsvector('english', g.facts))) AS t (lexeme)
    UNION SELECT g.role WHERE g.role <> ''
) AS w
ON CONFLICT (user_id, lexeme, entity_id) DO NOTHING
