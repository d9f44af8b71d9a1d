-- Hides the chunks of a document, a row for each run of consecutive numbers. The caller deletes the chunks; their postings
-- are removed later.
-- Columns: first_no.
-- :document_id uuid  the document
-- :before bigint  only chunks with lower numbers; null: all
INSERT INTO stepwell.hidden_chunks (user_id, first_no, last_no, config, tokens)
SELECT :user_id, min(r.chunk_no), max(r.chunk_no), r.config, sum(r.length)
FROM (
    SELECT c.chunk_no, c.config, c.length, c.chunk_no - row_number() OVER (PARTITION BY c.config ORDER BY c.chunk_no) AS run
    FROM stepwell.chunks AS c
    WHERE c.user_id = :user_id AND c.document_id = :document_id AND (:before IS NULL OR c.chunk_no < :before)
) AS r
GROUP BY r.config, r.run
RETURNING first_no
