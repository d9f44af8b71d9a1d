-- Tests conditions on one document, each as a JSON path with all variables of `passes_filters`.
-- Columns: one row per condition, in order: passes, and created_at of the document.
-- :user_id text  owner of the rows
-- :document_id uuid  the document
-- :paths text[]  the conditions
SELECT jsonb_path_exists(
           d.metadata, CAST(p.path AS jsonpath),
           d.moments || jsonb_build_object('document', d.document_id, 'source', d.source_id,
                                           'uri', d.uri, 'created', extract(epoch FROM d.created_at) * 1000000,
                                           'source_name', {{source_name d}}), true) AS passes,
       d.created_at
FROM stepwell.documents AS d
CROSS JOIN unnest(:paths) WITH ORDINALITY AS p (path, place)
WHERE d.user_id = :user_id AND d.document_id = :document_id
ORDER BY p.place
