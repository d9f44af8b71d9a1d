-- Counts the rows of documents in each table.
-- Columns: document_id, chunks, vectors, postings, mentions; one row per document that exists.
-- :ids uuid[]  the documents
SELECT d.document_id, coalesce(c.chunks, 0) AS chunks, coalesce(e.vectors, 0) AS vectors,
       coalesce(c.postings, 0) AS postings, coalesce(m.mentions, 0) AS mentions
FROM stepwell.documents AS d
LEFT JOIN (
    SELECT o.document_id, count(*) AS chunks, sum(length(o.tsv)) AS postings
    FROM stepwell.chunks AS o
    WHERE o.user_id = :user_id AND o.document_id = ANY (:ids)
    GROUP BY o.document_id
) AS c ON c.document_id = d.document_id
LEFT JOIN (
    SELECT o.document_id, count(*) AS vectors
    FROM stepwell.embeddings AS o
    WHERE o.user_id = :user_id AND o.document_id = ANY (:ids)
    GROUP BY o.document_id
) AS e ON e.document_id = d.document_id
LEFT JOIN (
    SELECT o.document_id, count(*) AS mentions
    FROM stepwell.mentions AS o
    WHERE o.user_id = :user_id AND o.document_id = ANY (:ids)
    GROUP BY o.document_id
) AS m ON m.document_id = d.document_id
WHERE d.user_id = :user_id AND d.document_id = ANY (:ids)
