-- What do these chunks say, and how near are they to the question?
-- Columns: a row a chunk; similarity is null without a vector.
-- :user_id text  whose chunks
-- :chunk_ids uuid[]  which
-- :embedding text::vector  null: none
SELECT c.chunk_id, c.document_id, d.source_id, d.title, d.uri, c.content, c.chunk_index, c.start_offset, c.end_offset,
       c.heading_path, d.metadata, 1 - (v.embedding <=> :embedding) AS similarity
FROM stepwell.chunks AS c
JOIN stepwell.documents AS d ON d.user_id = :user_id AND d.document_id = c.document_id
JOIN stepwell.embeddings AS v ON v.user_id = :user_id AND v.chunk_no = c.chunk_no
WHERE c.user_id = :user_id AND c.chunk_id = ANY (:chunk_ids)
