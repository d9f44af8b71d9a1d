-- Stores the vectors of a document's chunks.
-- Binds: user_id, document_id, first_no, vectors (text, in chunk order). Columns: chunk_no.
-- :user_id text
-- :first_no bigint
-- :document_id uuid
-- :vectors text[]
INSERT INTO stepwell.embeddings (user_id, chunk_no, document_id, embedding)
SELECT :user_id, :first_no + v.place - 1, :document_id, CAST(v.embedding AS vector)
FROM unnest(:vectors) WITH ORDINALITY AS v (embedding, place)
RETURNING chunk_no
