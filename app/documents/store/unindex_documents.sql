-- Removes the chunks of documents from the postings and from the document frequencies. The caller holds the user's lock.
-- Columns: blocks (how many contained their postings).
-- :document_ids uuid[]  the documents
WITH gone AS MATERIALIZED (
    SELECT coalesce(range_agg(int8range(c.chunk_no, c.chunk_no, '[]')), '{}') AS numbers
    FROM stepwell.chunks AS c
    WHERE c.user_id = :user_id AND c.document_id = ANY (:document_ids)
),
touched_blocks AS MATERIALIZED (
    SELECT DISTINCT t.lexeme COLLATE "C" AS lexeme, b.first_no
    FROM stepwell.chunks AS c
    CROSS JOIN LATERAL unnest(c.tsv) AS t
    CROSS JOIN LATERAL (
        SELECT p.first_no FROM stepwell.postings AS p
        WHERE p.user_id = :user_id AND p.lexeme = t.lexeme COLLATE "C" AND p.first_no <= c.chunk_no
        ORDER BY p.first_no DESC
        LIMIT 1
    ) AS b
    WHERE c.user_id = :user_id AND c.document_id = ANY (:document_ids)
),
{{remove_postings gone, touched_blocks}}
SELECT count(*) AS blocks FROM touched_blocks
