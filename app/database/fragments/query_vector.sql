-- Selects a query vector as the type of the stored vectors. As another type, it would be cast once for each vector that
-- it is compared with, and no vector would be found through its index.
-- :embedding vector  query vector; null: none
SELECT :embedding AS vector UNION ALL SELECT t.embedding FROM stepwell.embeddings AS t WHERE t.user_id = :user_id AND false
