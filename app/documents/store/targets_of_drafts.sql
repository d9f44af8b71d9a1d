-- Reads what is stored of documents that are to be written. The caller holds the user's lock.
-- Columns: identity; document_id, content_hash, attributes_hash, chunk_count (null if no document has the identity);
--   is_used (whether a document has the id for a new one); is_staged (whether a job has staged a version of the document).
-- :identities bytea[]  hashes of their URIs, or of their texts
-- :new_ids uuid[]  the id of each if it is new
SELECT g.identity, d.document_id, d.content_hash, d.attributes_hash, d.chunk_count,
       -- An EXISTS may be answered from a hash of all documents of the user.
       (SELECT count(*) > 0 FROM stepwell.documents AS o WHERE o.user_id = :user_id AND o.document_id = g.new_id)
           AS is_used,
       EXISTS (SELECT FROM stepwell.staged_documents AS s WHERE s.user_id = :user_id AND s.identity = g.identity)
       OR EXISTS (SELECT FROM stepwell.staged_documents AS s WHERE s.user_id = :user_id AND s.document_id = d.document_id)
           AS is_staged
FROM unnest(:identities, :new_ids) AS g (identity, new_id)
LEFT JOIN LATERAL (
    SELECT o.document_id, o.content_hash, o.attributes_hash, o.chunk_count
    FROM stepwell.documents AS o
    WHERE o.user_id = :user_id AND o.identity = g.identity
    LIMIT 1
) AS d ON true
