-- Deletes the ids of the keys and values of the metadata of a document.
-- Columns: changed_ids: added (null), removed.
-- :user_id text  owner of the rows
-- :document_id uuid  id of the document
removed_ids AS (
    DELETE FROM stepwell.document_facets AS f WHERE f.user_id = :user_id AND f.document_id = :document_id RETURNING f.ids
),
changed_ids AS (SELECT CAST(NULL AS bytea) AS added, r.ids AS removed FROM removed_ids AS r)
