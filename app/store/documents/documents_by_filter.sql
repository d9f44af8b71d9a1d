-- Lists the documents that pass filters, by id.
-- Columns: document_id.
-- :user_id text  owner of the rows
-- :after uuid  id after which to begin; null: at the first
-- :limit bigint  maximum number of documents
SELECT d.document_id
FROM stepwell.documents AS d
WHERE d.user_id = :user_id AND (:after IS NULL OR d.document_id > :after)
  AND {{passes_filters d}}
ORDER BY d.document_id
LIMIT :limit
