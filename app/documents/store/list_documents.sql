-- Lists documents without their text, newest first by default. The two orders by creation read an index; the others
-- sort all of the user's documents.
-- Columns: those of a listed document, content (the beginning of a document without title and URI, else null).
-- part oldest  the first created first
-- part changed  the last changed first
-- part title  by title, without its case
-- part after  begins behind a position
-- :after_at timestamptz  time of the position
-- :after_title text  title of the position
-- :characters int  characters of a title that are compared
-- :after_id uuid  id of the position
-- :identity? bytea  hash of its URI
-- :words? text[]  the words
-- :limit bigint  maximum number of documents
SELECT d.document_id, d.source_id, d.uri, d.title, d.metadata, d.config, d.content_hash, d.chunk_count, d.created_at,
       d.updated_at, CASE WHEN d.title = '' AND d.uri IS NULL THEN left(d.content, 200) END AS content
FROM stepwell.documents AS d
WHERE d.user_id = :user_id
-- if after
-- unless oldest or changed or title
  AND (d.created_at, d.document_id) < (:after_at, :after_id)
-- end
-- if oldest
  AND (d.created_at, d.document_id) > (:after_at, :after_id)
-- end
-- if changed
  AND (d.updated_at, d.document_id) < (:after_at, :after_id)
-- end
-- if title
  AND (lower(left(d.title, :characters)) COLLATE "C", d.document_id) > (lower(left(:after_title, :characters)), :after_id)
-- end
-- end
-- if identity
  AND d.identity = :identity
-- end
-- if words
  AND NOT EXISTS (
      SELECT FROM unnest(:words) AS w (word)
      WHERE strpos(lower(d.title || ' ' || coalesce(d.uri, '')), lower(w.word)) = 0)
-- end
  AND {{passes_filters d}}
ORDER BY
-- unless oldest or changed or title
  d.created_at DESC, d.document_id DESC
-- end
-- if oldest
  d.created_at, d.document_id
-- end
-- if changed
  d.updated_at DESC, d.document_id DESC
-- end
-- if title
  lower(left(d.title, :characters)) COLLATE "C", d.document_id
-- end
LIMIT :limit
