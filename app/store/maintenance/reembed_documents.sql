-- Stores vectors of the model that is to replace the one in use with the chunks of documents, by embedding key.
-- Columns: none.
-- :user_id text  owner of the rows
-- :document_ids uuid[]  the documents
-- :embedding_keys uuid[]  keys
-- :vectors text[]  vectors in pgvector's text format, in the order of the keys
INSERT INTO stepwell.embeddings_next (user_id, chunk_no, document_id, embedding)
SELECT :user_id, c.chunk_no, c.document_id, {{stored_vector stepwell.embeddings_next, g.embedding}}
FROM unnest(:embedding_keys, :vectors) AS g (embedding_key, embedding)
JOIN stepwell.chunks AS c
  ON c.user_id = :user_id AND c.document_id = ANY (:document_ids) AND c.embedding_key = g.embedding_key
ON CONFLICT (user_id, chunk_no) DO NOTHING
