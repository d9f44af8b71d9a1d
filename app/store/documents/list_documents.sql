-- Lists documents without their text, newest first.
-- Columns: those of a listed document.
-- :user_id text  owner of the rows
-- part after  begins behind a position
-- :after_at timestamptz  creation time of the position
-- :after_id uuid  id of the position
-- part uris  one document
-- :uris text[]  the URIs that it may have
-- part words  words that title and URI must contain together
-- :words text[]  the words
-- :limit bigint  maximum number of documents
SELECT d.document_id, d.source_id, d.uri, d.title, d.metadata, d.config, d.content_hash, d.chunk_count, d.created_at,
       d.updated_at
FROM stepwell.documents AS d
WHERE d.user_id = :user_id
-- if after
  AND (d.created_at, d.document_id) < (:after_at, :after_id)
-- end
-- if uris
  AND d.uri = ANY (:uris)
-- end
-- if words
  AND NOT EXISTS (
      SELECT FROM unnest(:words) AS w (word)
      WHERE strpos(lower(d.title || ' ' || coalesce(d.uri, '')), lower(w.word)) = 0)
-- end
  AND {{passes_filters d}}
ORDER BY d.created_at DESC, d.document_id DESC
LIMIT :limit
