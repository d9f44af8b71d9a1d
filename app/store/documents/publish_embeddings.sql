-- Copies the vectors of numbered staged chunks to the vectors of their document.
-- Columns: chunk_no.
-- :user_id text  owner of the rows
-- :job_id uuid  the job that stores the document
-- :document_id uuid  the document
-- :first_index integer  index of the first chunk
-- :last_index integer  index of the last chunk
INSERT INTO stepwell.embeddings (user_id, chunk_no, document_id, embedding)
SELECT :user_id, s.chunk_no, :document_id, {{stored_vector stepwell.embeddings, CAST(CAST(s.embedding AS vector) AS text)}}
FROM stepwell.staged_chunks AS s
WHERE s.user_id = :user_id AND s.job_id = :job_id AND s.chunk_index BETWEEN :first_index AND :last_index
RETURNING chunk_no
