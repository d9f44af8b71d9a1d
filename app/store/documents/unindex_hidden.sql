-- Removes the postings of hidden chunks of some lexemes, in alphabetical order, and lowers the document frequencies. The
-- caller holds the user's lock. From the block before the hidden numbers to the block after them, blocks that fit into one
-- are merged, so that n postings remain in at most 2 n / 128 + 1 blocks. A merged block has the first number of its
-- first part.
-- Columns: last (last lexeme that was looked at; null if there was none).
-- :user_id text  owner of the rows
-- :job_id uuid  the job that removes these chunks
-- :after text  lexeme after which to begin
-- :limit bigint  maximum number of lexemes
WITH hidden AS MATERIALIZED (
    SELECT coalesce(range_agg(int8range(h.first_no, h.last_no, '[]')), '{}') AS numbers,
           min(h.first_no) AS lo, max(h.last_no) AS hi
    FROM stepwell.hidden_chunks AS h
    WHERE h.user_id = :user_id AND h.job_id = :job_id
),
-- the blocks that may have numbers in the range, the one before and the one after
page AS MATERIALIZED (
    SELECT l.lexeme, l.tail_no,
           coalesce((SELECT o.first_no FROM stepwell.postings AS o
                     WHERE o.user_id = :user_id AND o.lexeme = l.lexeme AND o.first_no < (SELECT h.lo FROM hidden AS h)
                     ORDER BY o.first_no DESC OFFSET 1 LIMIT 1), 0) AS lowest_no,
           coalesce((SELECT o.first_no FROM stepwell.postings AS o
                     WHERE o.user_id = :user_id AND o.lexeme = l.lexeme AND o.first_no > (SELECT h.hi FROM hidden AS h)
                     ORDER BY o.first_no LIMIT 1), (SELECT h.hi FROM hidden AS h)) AS highest_no
    FROM stepwell.lexemes AS l
    WHERE l.user_id = :user_id AND l.lexeme > :after COLLATE "C"
    ORDER BY l.lexeme
    LIMIT :limit
),
trimmed_blocks AS MATERIALIZED (
    SELECT b.lexeme, b.tail_no, b.first_no, k.items, cardinality(k.items) AS size, b.size - cardinality(k.items) AS removed
    FROM (
        SELECT p.lexeme, g.tail_no, p.first_no, p.items, cardinality(p.items) AS size
        FROM page AS g
        JOIN stepwell.postings AS p
          ON p.user_id = :user_id AND p.lexeme = g.lexeme AND p.first_no BETWEEN g.lowest_no AND g.highest_no
        OFFSET 0
    ) AS b
    CROSS JOIN LATERAL (
        SELECT ARRAY(
            SELECT i.item FROM unnest(b.items) WITH ORDINALITY AS i (item, place)
            WHERE NOT ({{posting_chunk i.item}}) <@ (SELECT h.numbers FROM hidden AS h)
            ORDER BY i.place) AS items
    ) AS k
),
-- the remaining postings of a lexeme are counted in stretches of 128, and the blocks within a stretch are merged
merged_blocks AS MATERIALIZED (
    SELECT s.lexeme, s.tail_no, s.first_no, s.items, s.size, s.removed, count(*) OVER parts AS parts,
           min(s.first_no) OVER parts AS kept_no, sum(s.size) OVER parts AS kept_size
    FROM (
        SELECT c.*, CASE WHEN c.size > 0 AND (c.filled - c.size) / 128 = (c.filled - 1) / 128 THEN (c.filled - 1) / 128 END AS stretch
        FROM (
            SELECT t.*, bool_or(t.removed > 0) OVER (PARTITION BY t.lexeme) AS has_removed,
                   CAST(sum(t.size) OVER (PARTITION BY t.lexeme ORDER BY t.first_no) AS integer) AS filled
            FROM trimmed_blocks AS t
        ) AS c
        WHERE c.has_removed
    ) AS s
    WINDOW parts AS (PARTITION BY s.lexeme, s.stretch, CASE WHEN s.stretch IS NULL THEN s.first_no END)
),
removed_lexemes AS MATERIALIZED (
    SELECT m.lexeme, CAST(sum(m.removed) AS integer) AS chunks, bool_or(m.first_no = m.tail_no) AS has_tail,
           max(m.kept_no) FILTER (WHERE m.size > 0) AS last_no,
           (array_agg(m.kept_size ORDER BY m.kept_no DESC) FILTER (WHERE m.size > 0))[1] AS last_size
    FROM merged_blocks AS m
    GROUP BY m.lexeme
),
deleted_blocks AS (
    DELETE FROM stepwell.postings AS p USING merged_blocks AS m
    WHERE p.user_id = :user_id AND p.lexeme = m.lexeme AND p.first_no = m.first_no
      AND (m.size = 0 OR m.first_no <> m.kept_no)
),
updated_blocks AS (
    UPDATE stepwell.postings AS p SET items = k.items
    FROM (
        SELECT m.lexeme, m.kept_no, array_agg(i.item ORDER BY i.item) AS items
        FROM merged_blocks AS m CROSS JOIN LATERAL unnest(m.items) AS i (item)
        WHERE m.removed > 0 OR m.parts > 1
        GROUP BY m.lexeme, m.kept_no
    ) AS k
    WHERE p.user_id = :user_id AND p.lexeme = k.lexeme AND p.first_no = k.kept_no
),
deleted_lexemes AS (
    DELETE FROM stepwell.lexemes AS l USING removed_lexemes AS g
    WHERE l.user_id = :user_id AND l.lexeme = g.lexeme AND l.df <= g.chunks
),
updated_lexemes AS (
    UPDATE stepwell.lexemes AS l SET df = l.df - g.chunks,
           tail_no = CASE WHEN g.has_tail THEN coalesce(g.last_no, l.tail_no) ELSE l.tail_no END,
           tail_size = CASE WHEN g.has_tail THEN coalesce(g.last_size, l.tail_size) ELSE l.tail_size END
    FROM removed_lexemes AS g
    WHERE l.user_id = :user_id AND l.lexeme = g.lexeme AND l.df > g.chunks
)
SELECT max(g.lexeme) AS last FROM page AS g
