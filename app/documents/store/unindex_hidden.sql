-- Removes the postings of hidden chunks of some lexemes, in alphabetical order, and lowers the document frequencies. The
-- caller holds the user's lock.
-- Columns: last (last lexeme that was looked at; null if there was none).
-- :job_id uuid  the job that removes these chunks
-- :after text  lexeme after which to begin
-- :limit bigint  maximum number of lexemes
WITH gone AS MATERIALIZED (
    SELECT coalesce(range_agg(int8range(h.first_no, h.last_no, '[]')), '{}') AS numbers,
           min(h.first_no) AS lo, max(h.last_no) AS hi
    FROM stepwell.hidden_chunks AS h
    WHERE h.user_id = :user_id AND h.job_id = :job_id
),
page AS MATERIALIZED (
    SELECT l.lexeme,
           -- a column, because row-level security allows no COALESCE in the condition of an index
           coalesce((SELECT o.first_no FROM stepwell.postings AS o
                     WHERE o.user_id = :user_id AND o.lexeme = l.lexeme AND o.first_no <= (SELECT g.lo FROM gone AS g)
                     ORDER BY o.first_no DESC LIMIT 1), 0) AS lowest_no
    FROM stepwell.lexemes AS l
    WHERE l.user_id = :user_id AND l.lexeme > :after COLLATE "C"
    ORDER BY l.lexeme
    LIMIT :limit
),
touched_blocks AS MATERIALIZED (
    SELECT b.lexeme, b.first_no
    FROM (
        SELECT p.lexeme, p.first_no, p.items
        FROM page AS g
        JOIN stepwell.postings AS p
          ON p.user_id = :user_id AND p.lexeme = g.lexeme AND p.first_no >= g.lowest_no
         AND p.first_no <= (SELECT o.hi FROM gone AS o)
        OFFSET 0
    ) AS b
    WHERE EXISTS (
        SELECT FROM unnest(b.items) AS i (item) WHERE ({{posting_chunk i.item}}) <@ (SELECT g.numbers FROM gone AS g))
),
{{remove_postings gone, touched_blocks}}
SELECT max(g.lexeme) AS last FROM page AS g
