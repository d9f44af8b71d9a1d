-- Reads the sketches of a user's newest documents, packed into a few values, which are decoded faster than rows.
-- Columns: ids (16 bytes each), hashes (the first 8 bytes of those of the texts), sketches (:width bytes each), unread
--   (documents without a sketch), documents (that were read). The first three are in one order, newest first; documents
--   with a text that is too short for a sketch are left out of them.
-- :user_id text  owner of the documents
-- :most bigint  maximum number of documents
-- :width integer  bytes of a sketch
WITH newest AS MATERIALIZED (
    SELECT d.document_id, d.content_hash, d.sketch
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id
    ORDER BY d.created_at DESC
    LIMIT :most
)
SELECT string_agg(uuid_send(n.document_id), '') FILTER (WHERE length(n.sketch) = :width) AS ids,
       string_agg(substr(n.content_hash, 1, 8), '') FILTER (WHERE length(n.sketch) = :width) AS hashes,
       string_agg(n.sketch, '') FILTER (WHERE length(n.sketch) = :width) AS sketches,
       count(*) FILTER (WHERE n.sketch IS NULL) AS unread, count(*) AS documents
FROM newest AS n
