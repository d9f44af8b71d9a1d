-- Reads the ids of the keys and values of documents (`ids_of_documents`), one document after the other.
-- Columns: ids, and with their part attributes and texts (`attributes_of_documents`), in the same order.
-- :user_id text  owner of the rows
-- part attributes  the attributes of the documents as well
-- part portion  of the documents whose ids lie in a range
-- :first uuid  the first id of it
-- :last uuid  the last
-- part filtered  of the documents that pass the filters
SELECT coalesce(string_agg(f.ids, ''), '') AS ids
-- if attributes
    , coalesce(string_agg(f.attributes, ''), '') AS attributes, coalesce(string_agg(f.texts, ''), '') AS texts
-- end
FROM stepwell.document_facets AS f
-- if filtered
    JOIN stepwell.documents AS d ON d.user_id = f.user_id AND d.document_id = f.document_id
-- end
WHERE f.user_id = :user_id
-- if portion
  AND f.document_id BETWEEN :first AND :last
-- end
-- if filtered
  AND d.user_id = :user_id AND {{passes_filters d}}
-- end
