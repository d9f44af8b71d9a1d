-- Stores vectors of chunks. Chunks that no longer exist or already have a vector are skipped.
-- $table  table of the vectors
-- :chunk_nos bigint[]  numbers of the chunks
-- :vectors text[]  vectors in pgvector's text format
INSERT INTO $table (user_id, chunk_no, document_id, embedding)
SELECT :user_id, c.chunk_no, c.document_id, {{stored_vector $table, g.embedding}}
FROM unnest(:chunk_nos, :vectors) AS g (chunk_no, embedding)
JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = g.chunk_no
ON CONFLICT (user_id, chunk_no) DO NOTHING
