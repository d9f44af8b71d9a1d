-- Deletes the ids of the keys and values of the metadata of a document, and its attributes.
-- Columns: changed_ids: added, added_attributes, added_texts (null), removed, removed_attributes, removed_texts.
-- :user_id text  owner of the rows
-- :document_id uuid  id of the document
removed_ids AS (
    DELETE FROM stepwell.document_facets AS f WHERE f.user_id = :user_id AND f.document_id = :document_id
    RETURNING f.ids, f.attributes, f.texts
),
changed_ids AS (
    SELECT CAST(NULL AS bytea) AS added, CAST(NULL AS bytea) AS added_attributes, CAST(NULL AS bytea) AS added_texts,
           r.ids AS removed, r.attributes AS removed_attributes, r.texts AS removed_texts
    FROM removed_ids AS r
)
