-- Lists the documents that pass the filters, and counts their chunks; more than :most_listed ids say that there are more.
-- Columns: document_ids (null if there are none), chunks.
-- :most_listed bigint  maximum number of documents of a list
SELECT array_agg(o.document_id) AS document_ids, CAST(coalesce(sum(o.chunk_count), 0) AS bigint) AS chunks
FROM (
    SELECT d.document_id, d.chunk_count
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id
      AND {{passes_filters d}}
    LIMIT :most_listed + 1
) AS o
