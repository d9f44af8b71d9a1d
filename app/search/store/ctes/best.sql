-- Selects the best rows of the fusion with their chunks.
-- Columns: best: those of chunks, those of fused, score, place.
-- part least_cosine  a minimum cosine similarity, which chunks that the vector leg has not found may have too
-- :k float8  constant of RRF
-- :rrf_total float8  sum of the scaled weights of RRF
-- :convex boolean  true: order by the convex score; false: by RRF
-- :min_vector_score float8  minimum cosine similarity; null: none
-- :min_rrf_score float8  minimum RRF score; null: none
-- :limit bigint  maximum number of hits
top_rows AS MATERIALIZED (
    SELECT f.*, s.score, round(s.score * 1e12) AS sort_key, least(f.vector_rank, f.text_rank) AS better_rank
    FROM fused AS f
    CROSS JOIN leg_weights AS g
    CROSS JOIN LATERAL (
        SELECT CASE WHEN :convex THEN f.convex_score / (g.vector + g.text)
                    ELSE f.rrf_score * (:k + 1) / :rrf_total END AS score
    ) AS s
    WHERE (:min_vector_score IS NULL OR f.vector_score >= :min_vector_score
-- if least_cosine
           OR f.vector_score IS NULL AND :min_vector_score <= (
               SELECT 1 - (e.embedding <=> (SELECT q.vector FROM query_vector AS q)) FROM stepwell.embeddings AS e
               WHERE e.user_id = :user_id AND e.chunk_no = f.chunk_no)
-- end
          )
      AND (:min_rrf_score IS NULL OR f.rrf_score >= :min_rrf_score)
    ORDER BY sort_key DESC, better_rank
    FETCH FIRST (:limit) ROWS WITH TIES
),
best AS (
    SELECT c.chunk_id, c.document_id, c.content, c.chunk_index, c.start_offset, c.end_offset, c.heading_path, c.config, c.tsv, c.length, w.*,
           row_number() OVER (ORDER BY w.sort_key DESC, w.better_rank, c.chunk_id) AS place
    FROM top_rows AS w
    CROSS JOIN LATERAL (
        SELECT o.chunk_id, o.document_id, o.content, o.chunk_index, o.start_offset, o.end_offset, o.heading_path, o.config, o.tsv,
               o.length
        FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = w.chunk_no LIMIT 1
    ) AS c
    ORDER BY place
    LIMIT :limit
)
