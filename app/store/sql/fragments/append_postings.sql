-- Appends postings to the blocks of their lexemes, and adds them to the document frequencies. Chunks must have higher
-- numbers than all chunks that are indexed already. Ends the statement.
-- $source  the CTE of the postings: lexeme, chunk_no, item
-- :user_id text  owner of the rows
block_numbers AS (
    SELECT f.lexeme, f.chunk_no, f.item, l.tail_no, coalesce(l.tail_size, 0) AS tail_size,
           (coalesce(l.tail_size, 0) + row_number() OVER (PARTITION BY f.lexeme ORDER BY f.chunk_no) - 1) / 128 AS block
    FROM $source AS f
    LEFT JOIN stepwell.lexemes AS l ON l.user_id = :user_id AND l.lexeme = f.lexeme
),
blocks AS MATERIALIZED (
    SELECT lexeme, block, array_agg(item ORDER BY chunk_no) AS items,
           CASE WHEN block = 0 THEN coalesce(min(tail_no), min(chunk_no)) ELSE min(chunk_no) END AS first_no,
           CASE WHEN block = 0 THEN min(tail_size) ELSE 0 END + count(*) AS size
    FROM block_numbers
    GROUP BY lexeme, block
),
appended AS (
    INSERT INTO stepwell.postings AS p (user_id, lexeme, first_no, items)
    SELECT :user_id, lexeme, first_no, items FROM blocks ORDER BY lexeme, first_no
    ON CONFLICT (user_id, lexeme, first_no) DO UPDATE SET items = p.items || excluded.items
)
INSERT INTO stepwell.lexemes AS l (user_id, lexeme, df, tail_no, tail_size)
SELECT :user_id, lexeme, sum(cardinality(items)),
       max(first_no), CAST((array_agg(size ORDER BY block DESC))[1] AS integer)
FROM blocks
GROUP BY lexeme
ORDER BY lexeme
ON CONFLICT (user_id, lexeme) DO UPDATE
SET df = l.df + excluded.df, tail_no = excluded.tail_no, tail_size = excluded.tail_size
