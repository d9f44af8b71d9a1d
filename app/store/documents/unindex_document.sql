-- Removes a document's chunks from the postings and from the document frequencies, before the chunks are deleted. The
-- caller holds the user's lock.
-- A document's chunk numbers are consecutive, so only the first and the last block that overlap their range keep
-- postings. If these are 64 or fewer, they are merged with the blocks before and after them wherever two fit into one:
-- two adjacent blocks of a lexeme hold more than 64 postings together. A merged block has the first number of its first
-- part. A lexeme's row names its last block with its size.
-- Columns: none.
-- :user_id text  owner of the rows
-- :document_id uuid  the document
WITH removed_lexemes AS MATERIALIZED (
    SELECT t.lexeme COLLATE "C" AS lexeme, count(*) AS chunks, min(c.chunk_no) AS lo, max(c.chunk_no) AS hi
    FROM stepwell.chunks AS c CROSS JOIN LATERAL unnest(c.tsv) AS t
    WHERE c.user_id = :user_id AND c.document_id = :document_id
    GROUP BY t.lexeme
),
-- the first and the last block of the range, trimmed, and the blocks before and after them
trimmed_blocks AS MATERIALIZED (
    SELECT g.lexeme, l.df - CAST(g.chunks AS integer) AS df, l.tail_no, l.tail_size,
           coalesce(o.first_no, f.first_no) AS lowest_no, coalesce(n.first_no, h.no) AS highest_no,
           o.first_no AS before_no, coalesce(o.items, '{}') AS before_items, f.first_no, f.items AS first_items,
           e.first_no AS last_no, coalesce(e.items, '{}') AS last_items, n.first_no AS after_no, coalesce(n.items, '{}') AS after_items
    FROM removed_lexemes AS g
    CROSS JOIN LATERAL (
        SELECT o.df, o.tail_no, o.tail_size FROM stepwell.lexemes AS o
        WHERE o.user_id = :user_id AND o.lexeme = g.lexeme LIMIT 1
    ) AS l
    CROSS JOIN LATERAL (
        SELECT b.first_no, cardinality(b.items) AS size,
               b.items[1:width_bucket((g.lo << 24) - 1, b.items)]
               || b.items[width_bucket(((g.hi + 1) << 24) - 1, b.items) + 1:] AS items
        FROM (
            SELECT p.first_no, p.items FROM stepwell.postings AS p
            WHERE p.user_id = :user_id AND p.lexeme = g.lexeme AND p.first_no <= g.lo
            ORDER BY p.first_no DESC
            LIMIT 1
        ) AS b
    ) AS f
    LEFT JOIN LATERAL (
        SELECT p.first_no, p.items[width_bucket(((g.hi + 1) << 24) - 1, p.items) + 1:] AS items FROM stepwell.postings AS p
        WHERE p.user_id = :user_id AND p.lexeme = g.lexeme AND p.first_no > f.first_no AND p.first_no <= g.hi
          AND f.size < cardinality(f.items) + g.chunks
        ORDER BY p.first_no DESC
        LIMIT 1
    ) AS e ON true
    -- a column, because row-level security allows no COALESCE in the condition of an index
    CROSS JOIN LATERAL (SELECT coalesce(e.first_no, f.first_no) AS no OFFSET 0) AS h
    LEFT JOIN LATERAL (
        SELECT p.first_no, p.items FROM stepwell.postings AS p
        WHERE p.user_id = :user_id AND p.lexeme = g.lexeme AND p.first_no < f.first_no
          AND l.df > f.size AND cardinality(f.items) + coalesce(cardinality(e.items), 0) <= 64
        ORDER BY p.first_no DESC
        LIMIT 1
    ) AS o ON true
    LEFT JOIN LATERAL (
        SELECT p.first_no, p.items FROM stepwell.postings AS p
        WHERE p.user_id = :user_id AND p.lexeme = g.lexeme AND p.first_no > h.no
          AND l.df > f.size AND cardinality(f.items) + coalesce(cardinality(e.items), 0) <= 64
        ORDER BY p.first_no
        LIMIT 1
    ) AS n ON true
),
merged_blocks AS MATERIALIZED (
    SELECT t.lexeme, t.df, t.lowest_no, t.highest_no, z.no AS last_no, z.items AS last_items,
           CASE WHEN NOT y.fits THEN x.no END AS first_no, x.items AS first_items,
           CASE WHEN NOT z.fits THEN y.no END AS middle_no, y.items AS middle_items,
           array_remove(ARRAY[
               CASE WHEN NOT x.fits THEN t.before_no END, CASE WHEN NOT y.fits THEN x.no END,
               CASE WHEN NOT z.fits THEN y.no END, CASE WHEN z.items <> '{}' THEN z.no END], NULL) AS kept,
           CASE WHEN t.highest_no = t.tail_no THEN z.no ELSE t.tail_no END AS tail_no,
           CASE WHEN t.highest_no = t.tail_no THEN cardinality(z.items) ELSE t.tail_size END AS tail_size
    FROM trimmed_blocks AS t
    CROSS JOIN LATERAL (
        {{merged_block t.before_no, t.before_items, t.first_no, t.first_items}}
    ) AS x
    CROSS JOIN LATERAL (
        {{merged_block x.no, x.items, t.last_no, t.last_items}}
    ) AS y
    CROSS JOIN LATERAL (
        {{merged_block y.no, y.items, t.after_no, t.after_items}}
    ) AS z
),
deleted_blocks AS (
    DELETE FROM stepwell.postings AS p USING merged_blocks AS m
    WHERE p.user_id = :user_id AND p.lexeme = m.lexeme AND p.first_no BETWEEN m.lowest_no AND m.highest_no
      AND p.first_no <> ALL (m.kept) AND (m.lowest_no < m.highest_no OR m.kept = '{}')
),
changed_blocks AS MATERIALIZED (
    SELECT m.lexeme, b.first_no, b.items
    FROM merged_blocks AS m
    CROSS JOIN LATERAL (
        VALUES (m.first_no, m.first_items), (m.middle_no, m.middle_items), (m.last_no, m.last_items)
    ) AS b (first_no, items)
    WHERE b.first_no IS NOT NULL AND b.items <> '{}'
),
updated_blocks AS (
    UPDATE stepwell.postings AS p SET items = c.items FROM changed_blocks AS c
    WHERE p.user_id = :user_id AND p.lexeme = c.lexeme AND p.first_no = c.first_no AND p.items <> c.items
),
deleted_lexemes AS (
    DELETE FROM stepwell.lexemes AS l USING merged_blocks AS m
    WHERE l.user_id = :user_id AND l.lexeme = m.lexeme AND m.df <= 0
)
UPDATE stepwell.lexemes AS l SET df = m.df, tail_no = m.tail_no, tail_size = m.tail_size FROM merged_blocks AS m
WHERE l.user_id = :user_id AND l.lexeme = m.lexeme AND m.df > 0
