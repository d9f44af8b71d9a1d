-- Counts the documents of which other ids of keys and values are stored than those of their metadata, or other attributes.
-- Those of a document without metadata do not matter.
-- Columns: documents.
-- :user_id text  owner of the rows
SELECT count(*) AS documents
FROM ids_of_documents AS i
    JOIN attributes_of_documents AS a ON a.document_id = i.document_id
    LEFT JOIN stepwell.document_facets AS f ON f.user_id = :user_id AND f.document_id = i.document_id
WHERE coalesce(f.ids, int4send(0)) <> i.ids
   OR (i.ids <> int4send(0) AND (f.attributes <> a.attributes OR f.texts <> a.texts))
