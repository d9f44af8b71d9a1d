-- Stores the lexemes of what is known about entities, and their roles whole. Binds: user_id, and one array a column.
-- Columns: none.
-- :user_id text
-- :entity_ids uuid[]
-- :texts text[]  facts as the index reads them
-- :roles text[]  what a role is looked up by, empty where there is none
INSERT INTO stepwell.entity_words (user_id, lexeme, entity_id)
SELECT :user_id, w.lexeme, g.entity_id
FROM unnest(:entity_ids, :texts, :roles) AS g (entity_id, facts, role)
CROSS JOIN LATERAL (
    SELECT t.lexeme FROM unnest(tsvector_to_array(to_tsvector('english', g.facts))) AS t (lexeme)
    UNION SELECT g.role WHERE g.role <> ''
) AS w
ON CONFLICT (user_id, lexeme, entity_id) DO NOTHING
