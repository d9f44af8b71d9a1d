-- Stores vectors of chunks that have none, those of them that still exist.
-- Columns: none.
-- :user_id text
-- :chunk_nos bigint[]
-- :vectors text[]  as pgvector writes them
INSERT INTO stepwell.embeddings (user_id, chunk_no, document_id, embedding)
SELECT :user_id, c.chunk_no, c.document_id, CAST(g.embedding AS vector)
FROM unnest(:chunk_nos, :vectors) AS g (chunk_no, embedding)
JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = g.chunk_no
ON CONFLICT (user_id, chunk_no) DO NOTHING
