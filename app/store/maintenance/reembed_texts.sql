-- Reads chunks without a vector of the model that is to replace the one in use.
-- Columns: chunk_no, title, filename (in the metadata, or null), heading_path, content (empty if it is the title).
-- :user_id text  owner of the rows
-- :after bigint  number after which to begin
-- :limit bigint  maximum number of rows
SELECT c.chunk_no, d.title, d.metadata ->> 'filename' AS filename, c.heading_path,
       CASE c.end_offset WHEN 0 THEN '' ELSE c.content END AS content
FROM (
    SELECT o.chunk_no, o.document_id, o.heading_path, o.content, o.end_offset
    FROM stepwell.chunks AS o
    WHERE o.user_id = :user_id AND o.chunk_no > :after
      AND NOT EXISTS (SELECT FROM stepwell.embeddings_next AS n WHERE n.user_id = :user_id AND n.chunk_no = o.chunk_no)
    ORDER BY o.chunk_no
    LIMIT :limit
) AS c
JOIN stepwell.documents AS d ON d.user_id = :user_id AND d.document_id = c.document_id
ORDER BY c.chunk_no
