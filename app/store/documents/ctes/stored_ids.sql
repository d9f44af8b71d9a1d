-- Stores the ids of the keys and values of the metadata of documents, where they differ from those that are stored.
-- Columns: changed_ids: added, removed (null if none were stored).
-- :user_id text  owner of the rows
previous_ids AS MATERIALIZED (
    SELECT f.document_id, f.ids FROM stepwell.document_facets AS f
    WHERE f.user_id = :user_id AND f.document_id IN (SELECT i.document_id FROM ids_of_documents AS i)
),
stored_ids AS (
    INSERT INTO stepwell.document_facets AS f (user_id, document_id, ids)
    SELECT :user_id, i.document_id, i.ids FROM ids_of_documents AS i
    ON CONFLICT (user_id, document_id) DO UPDATE SET ids = excluded.ids WHERE f.ids <> excluded.ids
    RETURNING f.document_id, f.ids
),
changed_ids AS (
    SELECT s.ids AS added, p.ids AS removed
    FROM stored_ids AS s LEFT JOIN previous_ids AS p ON p.document_id = s.document_id
)
