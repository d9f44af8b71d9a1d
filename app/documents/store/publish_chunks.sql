-- Copies a range of staged chunks to the chunks of their document. They keep their numbers.
-- Columns: chunk_no.
-- :job_id uuid  the job that stores the document
-- :document_id uuid  the document
-- :first_index integer  index of the first chunk
-- :last_index integer  index of the last chunk
INSERT INTO stepwell.chunks (
    user_id, chunk_id, chunk_no, document_id, chunk_index, content, start_offset, end_offset, heading_path,
    config, tsv, length, embedding_key
)
SELECT :user_id, s.chunk_id, s.chunk_no, :document_id, s.chunk_index, s.content, s.start_offset, s.end_offset, s.heading_path,
       (SELECT h.config FROM stepwell.hidden_chunks AS h
        WHERE h.user_id = :user_id AND h.first_no <= s.chunk_no ORDER BY h.first_no DESC LIMIT 1),
       s.tsv, s.length, s.embedding_key
FROM stepwell.staged_chunks AS s
WHERE s.user_id = :user_id AND s.job_id = :job_id AND s.chunk_index BETWEEN :first_index AND :last_index
RETURNING chunk_no
