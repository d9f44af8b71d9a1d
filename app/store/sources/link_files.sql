-- Makes documents those of files of a source. The arrays are parallel.
-- Columns: none.
-- :user_id text  owner of the rows
-- :source_id uuid  the source
-- :document_ids uuid[]  the documents
-- :paths text[]  path of the file of each document
UPDATE stepwell.documents AS d SET source_id = :source_id, source_path = g.path
FROM unnest(:document_ids, :paths) AS g (document_id, path)
WHERE d.user_id = :user_id AND d.document_id = g.document_id
  AND (d.source_id IS DISTINCT FROM :source_id OR d.source_path IS DISTINCT FROM g.path)
