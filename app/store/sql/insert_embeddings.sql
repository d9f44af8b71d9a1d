-- Stores the vectors of a document's consecutive chunks.
-- Columns: chunk_no.
-- :user_id text  owner of the rows
-- :first_no bigint  number of the first chunk
-- :document_id uuid  the document
-- :vectors text[]  vectors in pgvector's text format, in chunk order
INSERT INTO stepwell.embeddings (user_id, chunk_no, document_id, embedding)
SELECT :user_id, :first_no + v.place - 1, :document_id, {{stored_vector stepwell.embeddings, v.embedding}}
FROM unnest(:vectors) WITH ORDINALITY AS v (embedding, place)
RETURNING chunk_no
