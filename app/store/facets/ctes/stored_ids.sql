-- Stores the ids of the keys and values of the metadata of documents, and their attributes, where they differ from those
-- that are stored.
-- Columns: changed_ids: added, added_attributes, added_texts, removed, removed_attributes, removed_texts (the last three
--   null if none were stored).
-- :user_id text  owner of the rows
previous_ids AS MATERIALIZED (
    SELECT f.document_id, f.ids, f.attributes, f.texts FROM stepwell.document_facets AS f
    WHERE f.user_id = :user_id AND f.document_id IN (SELECT i.document_id FROM ids_of_documents AS i)
),
stored_ids AS (
    INSERT INTO stepwell.document_facets AS f (user_id, document_id, ids, attributes, texts)
    SELECT :user_id, i.document_id, i.ids, a.attributes, a.texts
    FROM ids_of_documents AS i JOIN attributes_of_documents AS a ON a.document_id = i.document_id
    ON CONFLICT (user_id, document_id) DO UPDATE
    SET ids = excluded.ids, attributes = excluded.attributes, texts = excluded.texts
    WHERE f.ids <> excluded.ids OR f.attributes <> excluded.attributes OR f.texts <> excluded.texts
    RETURNING f.document_id, f.ids, f.attributes, f.texts
),
changed_ids AS (
    SELECT s.ids AS added, s.attributes AS added_attributes, s.texts AS added_texts,
           p.ids AS removed, p.attributes AS removed_attributes, p.texts AS removed_texts
    FROM stored_ids AS s LEFT JOIN previous_ids AS p ON p.document_id = s.document_id
)
