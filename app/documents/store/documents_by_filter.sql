-- Lists the documents that pass filters, by time of creation: about in the order of the numbers of their chunks.
-- Columns: created_at, document_id, chunk_count.
-- part after  continue after a document
-- :after_at timestamptz  when the document was created
-- :after_id uuid  its id
-- :limit bigint  maximum number of documents
SELECT d.created_at, d.document_id, d.chunk_count
FROM stepwell.documents AS d
WHERE d.user_id = :user_id
-- if after
  AND (d.created_at, d.document_id) > (:after_at, :after_id)
-- end
  AND {{passes_filters d}}
ORDER BY d.created_at, d.document_id
LIMIT :limit
