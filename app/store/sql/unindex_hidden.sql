-- Removes the postings of hidden chunks of some lexemes, in alphabetical order, and lowers the document frequencies. The
-- caller holds the user's lock.
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
page AS MATERIALIZED (
    SELECT l.lexeme FROM stepwell.lexemes AS l
    WHERE l.user_id = :user_id AND l.lexeme > :after COLLATE "C"
    ORDER BY l.lexeme
    LIMIT :limit
),
trimmed_blocks AS MATERIALIZED (
    SELECT b.lexeme, b.first_no, k.items, b.size - cardinality(k.items) AS removed
    FROM (
        SELECT p.lexeme, p.first_no, p.items, cardinality(p.items) AS size
        FROM page AS g
        JOIN stepwell.postings AS p ON p.user_id = :user_id AND p.lexeme = g.lexeme
        WHERE p.first_no <= (SELECT h.hi FROM hidden AS h)
          AND {{posting_chunk p.items[cardinality(p.items)]}} >= (SELECT h.lo FROM hidden AS h)
        OFFSET 0
    ) AS b
    CROSS JOIN LATERAL (
        SELECT ARRAY(
            SELECT i.item FROM unnest(b.items) WITH ORDINALITY AS i (item, place)
            WHERE NOT ({{posting_chunk i.item}}) <@ (SELECT h.numbers FROM hidden AS h)
            ORDER BY i.place) AS items
    ) AS k
    WHERE cardinality(k.items) < b.size
),
removed_lexemes AS MATERIALIZED (
    SELECT t.lexeme, CAST(sum(t.removed) AS integer) AS chunks FROM trimmed_blocks AS t GROUP BY t.lexeme
),
deleted_blocks AS (
    DELETE FROM stepwell.postings AS p USING trimmed_blocks AS t
    WHERE p.user_id = :user_id AND p.lexeme = t.lexeme AND p.first_no = t.first_no AND t.items = '{}'
),
updated_blocks AS (
    UPDATE stepwell.postings AS p SET items = t.items FROM trimmed_blocks AS t
    WHERE p.user_id = :user_id AND p.lexeme = t.lexeme AND p.first_no = t.first_no AND t.items <> '{}'
),
deleted_lexemes AS (
    DELETE FROM stepwell.lexemes AS l USING removed_lexemes AS g
    WHERE l.user_id = :user_id AND l.lexeme = g.lexeme AND l.df <= g.chunks
),
updated_lexemes AS (
    UPDATE stepwell.lexemes AS l SET df = l.df - g.chunks FROM removed_lexemes AS g
    WHERE l.user_id = :user_id AND l.lexeme = g.lexeme AND l.df > g.chunks
)
SELECT max(g.lexeme) AS last FROM page AS g
