-- Do a user's statistics say what the rows say? The postings are compared for a sample of lexemes.
-- Columns: counted_chunks, chunks, counted_tokens, tokens, vectors, sampled, wrong (lexemes whose df is not the number
--   of their postings).
-- :user_id text
-- :sample bigint  lexemes to compare
WITH sampled AS MATERIALIZED (
    SELECT l.lexeme, l.df
    FROM stepwell.lexemes AS l
    WHERE l.user_id = :user_id
    ORDER BY hashtext(l.lexeme), l.lexeme
    LIMIT :sample
),
posted AS MATERIALIZED (
    SELECT s.lexeme, s.df, coalesce(sum(cardinality(p.items)), 0) AS postings
    FROM sampled AS s
    LEFT JOIN stepwell.postings AS p ON p.user_id = :user_id AND p.lexeme = s.lexeme
    GROUP BY s.lexeme, s.df
),
counted AS MATERIALIZED (
    SELECT coalesce(sum(s.chunks), 0) AS chunks, coalesce(sum(s.tokens), 0) AS tokens
    FROM stepwell.text_statistics AS s
    WHERE s.user_id = :user_id
),
stored AS MATERIALIZED (
    SELECT count(*) AS chunks, coalesce(sum(c.length), 0) AS tokens
    FROM stepwell.chunks AS c
    WHERE c.user_id = :user_id
)
SELECT CAST(counted.chunks AS bigint) AS counted_chunks, stored.chunks,
       CAST(counted.tokens AS bigint) AS counted_tokens, CAST(stored.tokens AS bigint) AS tokens,
       (SELECT count(*) FROM stepwell.embeddings AS e WHERE e.user_id = :user_id) AS vectors,
       (SELECT count(*) FROM posted) AS sampled,
       (SELECT count(*) FROM posted WHERE df <> postings) AS wrong
FROM counted CROSS JOIN stored
