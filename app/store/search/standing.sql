-- Ranks one chunk in both legs, also beyond the candidates.
-- Columns: vector_score, vector_rank (null without the leg), vector_exact (false if not all vectors were compared, so that
--   the rank is the best possible one), text_score and text_rank (null if no term yields the chunk as a candidate).
SELECT * FROM standing
