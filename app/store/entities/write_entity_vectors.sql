-- Stores the vectors of entities' descriptions.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  ids of the entities
-- :vectors text[]  vectors in pgvector's text format
INSERT INTO stepwell.entity_vectors (user_id, entity_id, embedding)
SELECT :user_id, g.entity_id, {{stored_vector stepwell.entity_vectors, g.embedding}} FROM unnest(:entity_ids, :vectors) AS g (entity_id, embedding)
ON CONFLICT (user_id, entity_id) DO NOTHING
