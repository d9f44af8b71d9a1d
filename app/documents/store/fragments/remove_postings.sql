-- Removes the postings of some chunks from their blocks, and lowers the document frequencies. CTEs of a statement. The
-- caller holds the user's lock.
-- Where two neighbouring blocks would fit into one, the blocks around them are packed again, evenly. So two neighbours have
-- more than 64 postings together, and n postings are in at most n / 32 + 1 blocks.
-- $gone  CTE of one row: numbers (a multirange of the chunks)
-- $touched  CTE of the blocks that contain their postings: lexeme, first_no
neighbours AS MATERIALIZED (
    SELECT t.lexeme, t.first_no, b.first_no AS before_no, a.first_no AS after_no
    FROM $touched AS t
    LEFT JOIN LATERAL (
        SELECT p.first_no FROM stepwell.postings AS p
        WHERE p.user_id = :user_id AND p.lexeme = t.lexeme AND p.first_no < t.first_no
        ORDER BY p.first_no DESC
        LIMIT 1
    ) AS b ON true
    LEFT JOIN LATERAL (
        SELECT p.first_no FROM stepwell.postings AS p
        WHERE p.user_id = :user_id AND p.lexeme = t.lexeme AND p.first_no > t.first_no
        ORDER BY p.first_no
        LIMIT 1
    ) AS a ON true
),
-- the touched blocks and those next to them, without the postings that are removed
trimmed_blocks AS MATERIALIZED (
    SELECT n.lexeme, n.first_no, n.previous_no, k.items, cardinality(k.items) AS size,
           cardinality(p.items) - cardinality(k.items) AS removed
    FROM (
        SELECT o.lexeme, o.first_no, max(o.previous_no) AS previous_no, bool_or(o.is_touched) AS is_touched
        FROM (
            SELECT t.lexeme, t.first_no, t.before_no AS previous_no, true AS is_touched FROM neighbours AS t
            UNION ALL
            SELECT t.lexeme, t.before_no, NULL, false FROM neighbours AS t WHERE t.before_no IS NOT NULL
            UNION ALL
            SELECT t.lexeme, t.after_no, t.first_no, false FROM neighbours AS t WHERE t.after_no IS NOT NULL
        ) AS o
        GROUP BY o.lexeme, o.first_no
    ) AS n
    CROSS JOIN LATERAL (
        SELECT o.items FROM stepwell.postings AS o
        WHERE o.user_id = :user_id AND o.lexeme = n.lexeme AND o.first_no = n.first_no
        LIMIT 1
    ) AS p
    CROSS JOIN LATERAL (
        SELECT CASE WHEN n.is_touched THEN ARRAY(
            SELECT i.item FROM unnest(p.items) WITH ORDINALITY AS i (item, place)
            WHERE NOT ({{posting_chunk i.item}}) <@ (SELECT g.numbers FROM $gone AS g)
            ORDER BY i.place
        ) ELSE p.items END AS items
        OFFSET 0
    ) AS k
),
-- a stretch is a run of these blocks without another one between them
kept_blocks AS MATERIALIZED (
    SELECT s.*, s.size + lag(s.size) OVER (PARTITION BY s.lexeme, s.stretch ORDER BY s.first_no) <= 128 AS fit
    FROM (
        SELECT b.*, count(*) FILTER (WHERE b.begins) OVER (PARTITION BY b.lexeme ORDER BY b.first_no) AS stretch
        FROM (
            SELECT t.*, t.previous_no IS DISTINCT FROM lag(t.first_no) OVER (PARTITION BY t.lexeme ORDER BY t.first_no) AS begins
            FROM trimmed_blocks AS t
        ) AS b
    ) AS s
    WHERE s.size > 0
),
packed_stretches AS MATERIALIZED (
    SELECT k.lexeme, k.stretch, sum(k.size) AS size
    FROM kept_blocks AS k
    GROUP BY k.lexeme, k.stretch
    HAVING bool_or(k.fit)
),
packed_blocks AS MATERIALIZED (
    SELECT i.lexeme, {{posting_chunk min(i.item)}} AS first_no, array_agg(i.item ORDER BY i.item) AS items
    FROM (
        SELECT s.lexeme, s.stretch, u.item,
               ((row_number() OVER (PARTITION BY s.lexeme, s.stretch ORDER BY u.item) - 1) * ((s.size + 127) / 128)) / s.size AS part
        FROM packed_stretches AS s
        JOIN kept_blocks AS k ON k.lexeme = s.lexeme AND k.stretch = s.stretch
        CROSS JOIN LATERAL unnest(k.items) AS u (item)
    ) AS i
    GROUP BY i.lexeme, i.stretch, i.part
),
-- the blocks that take the place of `trimmed_blocks`
new_blocks AS MATERIALIZED (
    SELECT p.lexeme, p.first_no, p.items, true AS is_changed FROM packed_blocks AS p
    UNION ALL
    SELECT k.lexeme, k.first_no, k.items, k.removed > 0
    FROM kept_blocks AS k
    LEFT JOIN packed_stretches AS s ON s.lexeme = k.lexeme AND s.stretch = k.stretch
    WHERE s.lexeme IS NULL
),
deleted_blocks AS (
    DELETE FROM stepwell.postings AS p
    USING (
        SELECT t.lexeme, t.first_no FROM trimmed_blocks AS t
        EXCEPT
        SELECT b.lexeme, b.first_no FROM new_blocks AS b
    ) AS g
    WHERE p.user_id = :user_id AND p.lexeme = g.lexeme AND p.first_no = g.first_no
),
written_blocks AS (
    INSERT INTO stepwell.postings AS p (user_id, lexeme, first_no, items)
    SELECT :user_id, b.lexeme, b.first_no, b.items FROM new_blocks AS b WHERE b.is_changed ORDER BY b.lexeme, b.first_no
    ON CONFLICT (user_id, lexeme, first_no) DO UPDATE SET items = excluded.items
),
-- the last of these blocks is the last one of the lexeme if that was among them
lowered_lexemes AS MATERIALIZED (
    SELECT r.lexeme, r.removed, r.highest_no, n.first_no AS last_no, n.size AS last_size
    FROM (
        SELECT t.lexeme, CAST(sum(t.removed) AS integer) AS removed, max(t.first_no) AS highest_no
        FROM trimmed_blocks AS t
        GROUP BY t.lexeme
    ) AS r
    LEFT JOIN (
        SELECT DISTINCT ON (b.lexeme) b.lexeme, b.first_no, cardinality(b.items) AS size
        FROM new_blocks AS b
        ORDER BY b.lexeme, b.first_no DESC
    ) AS n ON n.lexeme = r.lexeme
),
deleted_lexemes AS (
    DELETE FROM stepwell.lexemes AS l USING lowered_lexemes AS m
    WHERE l.user_id = :user_id AND l.lexeme = m.lexeme AND l.df <= m.removed
),
updated_lexemes AS (
    UPDATE stepwell.lexemes AS l SET df = l.df - m.removed,
           tail_no = CASE WHEN l.tail_no = m.highest_no THEN m.last_no ELSE l.tail_no END,
           tail_size = CASE WHEN l.tail_no = m.highest_no THEN m.last_size ELSE l.tail_size END
    FROM lowered_lexemes AS m
    WHERE l.user_id = :user_id AND l.lexeme = m.lexeme AND l.df > m.removed
)
