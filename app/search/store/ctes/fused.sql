-- Computes the bounds of the legs' scores, and fuses the legs.
--
-- RRF is the sum of weight / (k + rank), ranks from 1; an absent leg adds nothing (Cormack et al. 2009). Its weights are
-- scaled to a fixed sum, so that scores of all modes have one scale. The convex
-- score is the weighted sum of the legs' scaled scores (Bruch et al. 2023). The CTE is materialised, so that chunk_no is a
-- plain column and the join after it can use an index under row-level security.
-- Columns: leg_scores: worst, best, best_text (smallest and largest scores), vector_found, text_found (chunks of a leg);
--   fused: chunk_no, vector_score, vector_rank, text_score, text_rank, vector_scaled, text_scaled, rrf_score,
--   convex_score.
-- :k float8  constant of RRF
-- :rrf_total float8  sum of the scaled weights of RRF
leg_scores AS MATERIALIZED (
    SELECT v.worst, v.best, v.found AS vector_found, t.best AS best_text, t.found AS text_found
    FROM (SELECT min(l.score) AS worst, max(l.score) AS best, count(*) AS found FROM vector_leg AS l) AS v
    CROSS JOIN (SELECT max(l.score) AS best, count(*) AS found FROM text_leg AS l) AS t
),
fused AS MATERIALIZED (
    SELECT l.*,
           (coalesce(g.vector / (:k + l.vector_rank), 0) + coalesce(g.text / (:k + l.text_rank), 0))
               * :rrf_total / (g.vector + g.text) AS rrf_score,
           g.vector * l.vector_scaled + g.text * l.text_scaled AS convex_score
    FROM (
        SELECT coalesce(v.chunk_no, t.chunk_no) AS chunk_no,
               v.score AS vector_score, v.rank AS vector_rank, t.score AS text_score, t.rank AS text_rank,
               CASE WHEN v.rank IS NULL THEN 0
                    ELSE coalesce((v.score - z.worst) / nullif(z.best - z.worst, 0), 1) END AS vector_scaled,
               CASE WHEN t.rank IS NULL THEN 0
                    ELSE coalesce(CAST(t.score AS float8) / nullif(z.best_text, 0), 1) END AS text_scaled
        FROM vector_leg AS v
        FULL OUTER JOIN text_leg AS t ON t.chunk_no = v.chunk_no
        CROSS JOIN leg_scores AS z
    ) AS l
    CROSS JOIN leg_weights AS g
)
