-- Finds the sets of a user's documents with the same text.
-- Columns: documents (of the set), ids, titles, uris (of its first documents, oldest first), repeated (documents of all sets
--   beyond the first of each)
-- :sets bigint  maximum number of sets, largest first
-- :named integer  maximum number of documents of a set
WITH equal AS (
    SELECT d.content_hash, count(*) AS documents
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id AND d.content <> ''
    GROUP BY d.content_hash
    HAVING count(*) > 1
),
largest AS (
    SELECT e.content_hash, e.documents, sum(e.documents - 1) OVER () AS repeated
    FROM equal AS e
    ORDER BY e.documents DESC, e.content_hash
    LIMIT :sets
)
SELECT l.documents, l.repeated, o.ids, o.titles, o.uris
FROM largest AS l
CROSS JOIN LATERAL (
    SELECT (array_agg(d.document_id ORDER BY d.created_at, d.document_id))[1:(:named)] AS ids,
           (array_agg(d.title ORDER BY d.created_at, d.document_id))[1:(:named)] AS titles,
           (array_agg(d.uri ORDER BY d.created_at, d.document_id))[1:(:named)] AS uris
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id AND d.content_hash = l.content_hash
) AS o
ORDER BY l.documents DESC, l.content_hash
