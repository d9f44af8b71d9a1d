-- Stores the vectors of descriptions. Binds: user_id, and one array a column. Columns: none.
-- :user_id text
-- :entity_ids uuid[]
-- :vectors text[]
INSERT INTO stepwell.entity_vectors (user_id, entity_id, embedding)
SELECT :user_id, g.entity_id, CAST(g.embedding AS vector) FROM unnest(:entity_ids, :vectors) AS g (entity_id, embedding)
ON CONFLICT (user_id, entity_id) DO NOTHING
