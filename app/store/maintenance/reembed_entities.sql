-- Stores vectors of the model that is to replace the one in use; entities with another text by now are skipped.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  ids of the entities
-- :texts text[]  the texts that were embedded
-- :vectors text[]  vectors in pgvector's text format
INSERT INTO stepwell.entity_vectors_next (user_id, entity_id, embedding)
SELECT :user_id, e.entity_id, {{stored_vector stepwell.entity_vectors_next, g.embedding}}
FROM unnest(:entity_ids, :texts, :vectors) AS g (entity_id, text, embedding)
JOIN stepwell.entities AS e ON e.user_id = :user_id AND e.entity_id = g.entity_id AND {{description_of_entity e}} = g.text
ON CONFLICT (user_id, entity_id) DO NOTHING
