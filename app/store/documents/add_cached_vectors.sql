-- Stores vectors of passages for texts that are stored again. The order of the rows prevents deadlocks.
-- Columns: none.
-- :user_id text  owner of the rows
-- :model text  the model
-- :dimension integer  its dimension
-- :task text  what the model was asked for
-- :hashes uuid[]  hashes of the texts
-- :vectors text[]  vectors in pgvector's text format, in the order of the hashes
INSERT INTO stepwell.embedding_cache (user_id, model, dimension, task, text_hash, embedding, used_at)
SELECT :user_id, :model, :dimension, :task, g.text_hash, CAST(g.embedding AS vector), now()
FROM unnest(:hashes, :vectors) AS g (text_hash, embedding)
ORDER BY g.text_hash
ON CONFLICT (user_id, model, dimension, task, text_hash) DO NOTHING
