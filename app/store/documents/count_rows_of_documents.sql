-- Counts the rows of some documents in each table, and returns the numbers of their chunks.
-- Columns: documents, chunks, vectors, postings (of the chunks that exist), mentions, numbers (text of a multirange).
-- :user_id text  owner of the rows
-- :ids uuid[]  the documents
SELECT (SELECT count(*) FROM stepwell.documents AS d
        WHERE d.user_id = :user_id AND d.document_id = ANY (:ids)) AS documents,
       (SELECT count(*) FROM stepwell.embeddings AS e
        WHERE e.user_id = :user_id AND e.document_id = ANY (:ids)) AS vectors,
       (SELECT count(*) FROM stepwell.mentions AS m
        WHERE m.user_id = :user_id AND m.document_id = ANY (:ids)) AS mentions,
       count(*) AS chunks, coalesce(sum(length(c.tsv)), 0) AS postings,
       CAST(coalesce(range_agg(int8range(c.chunk_no, c.chunk_no, '[]')), '{}') AS text) AS numbers
FROM stepwell.chunks AS c
WHERE c.user_id = :user_id AND c.document_id = ANY (:ids)
