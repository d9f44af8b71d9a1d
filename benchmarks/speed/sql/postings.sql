-- Builds the postings of all of a user's chunks at once, in the form that `index_documents.sql` gives them one by one.
-- Columns: none.
-- :user_id text
WITH fresh AS (
    SELECT t.lexeme COLLATE "C" AS lexeme, c.chunk_no,
           (c.chunk_no << 24) | (CAST(least(cardinality(t.positions), 255) AS bigint) << 16) | least(c.length, 65535) AS item
    FROM stepwell.chunks AS c CROSS JOIN LATERAL unnest(c.tsv) AS t
    WHERE c.user_id = :user_id
),
placed AS (
    SELECT f.*, (row_number() OVER (PARTITION BY f.lexeme ORDER BY f.chunk_no) - 1) / 128 AS block
    FROM fresh AS f
)
INSERT INTO stepwell.postings (user_id, lexeme, first_no, items)
SELECT :user_id, p.lexeme, min(p.chunk_no), array_agg(p.item ORDER BY p.chunk_no)
FROM placed AS p
GROUP BY p.lexeme, p.block
ORDER BY p.lexeme, p.block
