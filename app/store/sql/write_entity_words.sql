-- Stores the lexemes of what is known about entities. Binds: user_id, and one array a column. Columns: none.
-- :user_id text
-- :entity_ids uuid[]
-- :texts text[]  facts as the index reads them
INSERT INTO stepwell.entity_words (user_id, lexeme, entity_id)
SELECT :user_id, w.lexeme, g.entity_id
FROM unnest(:entity_ids, :texts) AS g (entity_id, facts)
CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector('english', g.facts))) AS w (lexeme)
ON CONFLICT (user_id, lexeme, entity_id) DO NOTHING
