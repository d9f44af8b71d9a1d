-- Stores the vectors of consecutive chunks. The arrays are parallel, in chunk order.
-- Columns: chunk_no.
-- :user_id text  owner of the rows
-- :first_no bigint  number of the first chunk
-- :document_ids uuid[]  document of each chunk
-- :vectors text[]  vectors in pgvector's text format
INSERT INTO stepwell.embeddings (user_id, chunk_no, document_id, embedding)
SELECT :user_id, :first_no + v.place - 1, v.document_id, {{stored_vector stepwell.embeddings, v.embedding}}
FROM unnest(:document_ids, :vectors) WITH ORDINALITY AS v (document_id, embedding, place)
RETURNING chunk_no
