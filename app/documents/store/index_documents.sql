-- Adds the stored chunks of documents to the postings and to the document frequencies. The caller holds the user's lock.
-- A posting is chunk_no << 24 | tf << 16 | length (tf at most 255, length at most 65,535). A block contains up to 128
-- postings in ascending order. A lexeme's row stores the number and size of its last block, so that appending changes
-- one block per lexeme.
-- Columns: none.
-- :document_ids uuid[]  the documents
WITH new_postings AS MATERIALIZED (
    SELECT t.lexeme COLLATE "C" AS lexeme, {{posting c, t.positions}} AS item
    FROM stepwell.chunks AS c CROSS JOIN LATERAL unnest(c.tsv) AS t
    WHERE c.user_id = :user_id AND c.document_id = ANY (:document_ids)
),
{{append_postings new_postings}}
