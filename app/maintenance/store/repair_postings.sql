-- Stores the postings and document frequencies of lexemes whose old postings were deleted. The caller holds the user's
-- lock.
-- The given postings were read before the lock was taken: postings of chunks deleted in the meantime are skipped, and
-- those of chunks stored in the meantime are added.
-- Columns: none.
-- :lexemes text[]  the lexemes, without repetition
-- :owners text[]  the lexeme of each posting
-- :items bigint[]  the postings
-- :since bigint  number of the first chunk that may have been stored in the meantime
WITH expected AS MATERIALIZED (
    SELECT g.owner COLLATE "C" AS lexeme, g.item
    FROM (SELECT u.owner, u.item, {{posting_chunk u.item}} AS chunk_no FROM unnest(:owners, :items) AS u (owner, item) OFFSET 0) AS g
    WHERE EXISTS (SELECT FROM stepwell.chunks AS c WHERE c.user_id = :user_id AND c.chunk_no = g.chunk_no)
    UNION
    SELECT t.lexeme COLLATE "C",
           {{posting c, t.positions}}
    FROM stepwell.chunks AS c CROSS JOIN LATERAL unnest(c.tsv) AS t
    WHERE c.user_id = :user_id AND c.chunk_no >= :since AND t.lexeme = ANY (:lexemes)
),
block_numbers AS (
    SELECT lexeme, item, (row_number() OVER (PARTITION BY lexeme ORDER BY item) - 1) / 128 AS block FROM expected
),
blocks AS MATERIALIZED (
    SELECT lexeme, block, array_agg(item ORDER BY item) AS items, {{posting_chunk min(item)}} AS first_no
    FROM block_numbers
    GROUP BY lexeme, block
),
stored_postings AS (
    INSERT INTO stepwell.postings (user_id, lexeme, first_no, items)
    SELECT :user_id, lexeme, first_no, items FROM blocks ORDER BY lexeme, first_no
    ON CONFLICT (user_id, lexeme, first_no) DO UPDATE SET items = excluded.items
),
stored_frequencies AS (
    INSERT INTO stepwell.lexemes AS l (user_id, lexeme, df, tail_no, tail_size)
    SELECT :user_id, lexeme, sum(cardinality(items)), max(first_no),
           (array_agg(cardinality(items) ORDER BY block DESC))[1]
    FROM blocks
    GROUP BY lexeme
    ORDER BY lexeme
    ON CONFLICT (user_id, lexeme) DO UPDATE
    SET df = excluded.df, tail_no = excluded.tail_no, tail_size = excluded.tail_size
)
DELETE FROM stepwell.lexemes AS l
WHERE l.user_id = :user_id AND l.lexeme = ANY (:lexemes) AND NOT EXISTS (SELECT FROM blocks AS b WHERE b.lexeme = l.lexeme)
