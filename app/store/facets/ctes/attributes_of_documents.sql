-- Computes the attributes of documents that filters test besides metadata. `attributes` are the time of creation in
-- microseconds since 1970, eight bytes, and the id of the source, zero without one. `texts` are the URI and the name of the
-- file in the metadata, empty where there is none, each followed by a zero byte.
-- Columns: attributes_of_documents: document_id, attributes, texts.
-- :user_id text  owner of the rows
-- part some  of these documents only
-- :document_ids uuid[]  ids of documents
attributes_of_documents AS (
    SELECT d.document_id,
           int8send(CAST(extract(epoch FROM d.created_at) * 1000000 AS bigint))
               || uuid_send(coalesce(d.source_id, '00000000-0000-0000-0000-000000000000')) AS attributes,
           convert_to(coalesce(d.uri, ''), 'UTF8') || '\x00'
               || CASE jsonb_typeof(d.metadata -> 'filename')
                      WHEN 'string' THEN convert_to(d.metadata ->> 'filename', 'UTF8') ELSE '' END || '\x00' AS texts
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id
-- if some
      AND d.document_id = ANY (:document_ids)
-- end
)
