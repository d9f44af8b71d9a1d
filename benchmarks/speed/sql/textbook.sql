-- The hybrid query of the textbooks, as a yardstick: ts_rank_cd over the matching chunks, the nearest vectors, RRF.
-- Columns: chunk_id, content, score.
-- :user_id text
-- :query text  the words, joined by | or &
-- :embedding text::vector
-- :candidates bigint
-- :limit bigint
WITH text_leg AS MATERIALIZED (
    SELECT r.chunk_no, row_number() OVER (ORDER BY r.score DESC) AS rank
    FROM (
        SELECT c.chunk_no, ts_rank_cd(c.tsv, to_tsquery('english', :query)) AS score
        FROM stepwell.chunks AS c
        WHERE c.user_id = :user_id AND c.tsv @@ to_tsquery('english', :query)
        ORDER BY score DESC
        LIMIT :candidates
    ) AS r
),
nearest AS MATERIALIZED (
    SELECT e.chunk_no, e.embedding <=> :embedding AS distance
    FROM stepwell.embeddings AS e
    WHERE e.user_id = :user_id
    ORDER BY e.embedding <=> :embedding
    LIMIT :candidates
),
vector_leg AS (
    SELECT n.chunk_no, row_number() OVER (ORDER BY n.distance) AS rank FROM nearest AS n
),
best AS (
    SELECT chunk_no, coalesce(1.0 / (60 + v.rank), 0) + coalesce(1.0 / (60 + t.rank), 0) AS score
    FROM vector_leg AS v FULL OUTER JOIN text_leg AS t USING (chunk_no)
    ORDER BY score DESC
    LIMIT :limit
)
SELECT c.chunk_id, c.content, b.score
FROM best AS b
JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = b.chunk_no
ORDER BY b.score DESC
