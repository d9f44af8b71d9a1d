-- Compares the document frequencies of a sample of lexemes with the number of their postings, and finds postings of
-- chunks that do not exist.
-- Columns: sampled, wrong (both numbers of lexemes).
-- :user_id text  owner of the rows
-- :chunk_nos bigint[]  chunks from which the lexemes are sampled
-- :most bigint  lexemes in more chunks than this are skipped
-- :sample bigint  maximum number of lexemes
WITH sampled AS MATERIALIZED (
    SELECT DISTINCT l.lexeme, l.df
    FROM unnest(:chunk_nos) AS g (chunk_no)
    JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = g.chunk_no
    CROSS JOIN LATERAL unnest(c.tsv) AS t
    JOIN stepwell.lexemes AS l ON l.user_id = :user_id AND l.lexeme = t.lexeme COLLATE "C"
    WHERE l.df <= :most
    ORDER BY l.lexeme, l.df
    LIMIT :sample
),
stored_postings AS MATERIALIZED (
    SELECT s.lexeme, s.df, count(i.item) AS postings, count(*) FILTER (WHERE c.chunk_no IS NULL) AS stray
    FROM sampled AS s
    LEFT JOIN stepwell.postings AS p ON p.user_id = :user_id AND p.lexeme = s.lexeme
    LEFT JOIN LATERAL unnest(p.items) AS i (item) ON true
    LEFT JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = {{posting_chunk i.item}}
    GROUP BY s.lexeme, s.df
)
SELECT count(*) AS sampled, count(*) FILTER (WHERE df <> postings OR stray > 0) AS wrong FROM stored_postings
