-- Appends postings to the blocks of their lexemes, and adds them to the document frequencies. Chunks must have higher
-- numbers than all chunks that are indexed already. Ends the statement. Postings sort like the numbers of their chunks.
-- $source  the CTE of the postings: lexeme, item
lists AS MATERIALIZED (
    SELECT f.lexeme, array_agg(f.item ORDER BY f.item) AS items FROM $source AS f GROUP BY f.lexeme
),
blocks AS MATERIALIZED (
    SELECT d.lexeme, d.block, d.items, CASE WHEN d.block = 0 THEN d.tail_size ELSE 0 END + cardinality(d.items) AS size,
           CASE WHEN d.block = 0 AND d.tail_no IS NOT NULL THEN d.tail_no ELSE {{posting_chunk d.items[1]}} END AS first_no
    FROM (
        SELECT t.lexeme, t.tail_no, t.tail_size, b.block,
               t.items[greatest(b.block * 128 - t.tail_size, 0) + 1 : (b.block + 1) * 128 - t.tail_size] AS items
        FROM (
            SELECT f.lexeme, f.items, l.tail_no, coalesce(l.tail_size, 0) AS tail_size
            FROM lists AS f
            LEFT JOIN LATERAL (
                SELECT o.tail_no, o.tail_size FROM stepwell.lexemes AS o
                WHERE o.user_id = :user_id AND o.lexeme = f.lexeme LIMIT 1
            ) AS l ON true
        ) AS t
        CROSS JOIN LATERAL generate_series(t.tail_size / 128, (t.tail_size + cardinality(t.items) - 1) / 128) AS b (block)
    ) AS d
),
appended AS (
    INSERT INTO stepwell.postings AS p (user_id, lexeme, first_no, items)
    SELECT :user_id, lexeme, first_no, items FROM blocks ORDER BY lexeme, first_no
    ON CONFLICT (user_id, lexeme, first_no) DO UPDATE SET items = p.items || excluded.items
)
INSERT INTO stepwell.lexemes AS l (user_id, lexeme, df, tail_no, tail_size)
SELECT :user_id, lexeme, sum(cardinality(items)), max(first_no), (array_agg(size ORDER BY block DESC))[1]
FROM blocks
GROUP BY lexeme
ORDER BY lexeme
ON CONFLICT (user_id, lexeme) DO UPDATE
SET df = l.df + excluded.df, tail_no = excluded.tail_no, tail_size = excluded.tail_size
