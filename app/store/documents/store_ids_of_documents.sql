-- Stores the ids of the keys and values of the metadata of documents, where they differ from those that are stored.
-- Columns: none.
-- :user_id text  owner of the rows
INSERT INTO stepwell.document_facets AS f (user_id, document_id, ids)
SELECT :user_id, i.document_id, i.ids FROM ids_of_documents AS i
ON CONFLICT (user_id, document_id) DO UPDATE SET ids = excluded.ids WHERE f.ids <> excluded.ids
