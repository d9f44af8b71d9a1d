-- Stores the vectors of staged chunks by embedding key.
-- Columns: chunk_index.
-- :user_id text  owner of the rows
-- :job_id uuid  the job that stores the document
-- :first_index integer  index of the first chunk to change
-- :last_index integer  index of the last chunk to change
-- :embedding_keys uuid[]  keys
-- :vectors text[]  vectors in pgvector's text format, in the order of the keys
UPDATE stepwell.staged_chunks AS s SET embedding = CAST(CAST(v.embedding AS vector) AS real[])
FROM unnest(:embedding_keys, :vectors) AS v (embedding_key, embedding)
WHERE s.user_id = :user_id AND s.job_id = :job_id AND s.chunk_index BETWEEN :first_index AND :last_index
  AND s.embedding_key = v.embedding_key
RETURNING s.chunk_index
