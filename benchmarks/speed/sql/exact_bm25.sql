-- What is the BM25 of every matching chunk (k1 1.2, b 0.75, Lucene's idf), read from the tsvectors alone?
-- Columns: chunk_id, score; the best first.
-- :user_id text
-- :query text  the words, joined by |
-- :chunks float8  how many chunks the user has
-- :average_length float8
-- :limit bigint
WITH held AS MATERIALIZED (
    SELECT c.chunk_id, c.length, t.lexeme, cardinality(t.positions) AS tf
    FROM stepwell.chunks AS c
    CROSS JOIN LATERAL unnest(c.tsv) AS t
    WHERE c.user_id = :user_id AND c.tsv @@ to_tsquery('english', :query)
      AND t.lexeme = ANY (tsvector_to_array(to_tsvector('english', replace(:query, '|', ' '))))
),
terms AS (
    SELECT h.lexeme, ln(1 + (:chunks - count(*) + 0.5) / (count(*) + 0.5)) AS idf FROM held AS h GROUP BY h.lexeme
)
SELECT h.chunk_id, sum(t.idf * 2.2 * h.tf / (h.tf + 1.2 * (0.25 + 0.75 * h.length / :average_length))) AS score
FROM held AS h
JOIN terms AS t USING (lexeme)
GROUP BY h.chunk_id
ORDER BY score DESC, h.chunk_id
LIMIT :limit
