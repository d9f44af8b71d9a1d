-- Ranks one chunk in both legs, also beyond the candidates; `passages.RANKS_OF_CHUNK` lists its CTEs.
-- Columns: vector_score, vector_rank (null without the leg), vector_exact (false if not all vectors were compared, so that
--   the rank is the best possible one), text_score and text_rank (null if no term yields the chunk as a candidate).
-- part vector  the vector leg
-- part text  the text leg
-- part filtered  filters on documents
-- part strict  phrases and required words
-- part excluding  words and phrases that no hit may contain
-- part exclusions  chunks that are excluded from the hits
-- :most_compared bigint  maximum number of vectors that are compared
SELECT
-- if vector
       (SELECT 1 - t.distance FROM asked_vector AS t) AS vector_score,
       (SELECT 1 + count(*)
        FROM compared AS n
        WHERE n.distance <= (SELECT t.distance FROM asked_vector AS t)
          AND (n.distance < (SELECT t.distance FROM asked_vector AS t)
               OR n.chunk_no < (SELECT a.chunk_no FROM asked AS a))
-- if exclusions
          AND n.chunk_no NOT IN (SELECT x.chunk_no FROM excluded_chunks AS x)
-- end
-- if filtered
          AND ((SELECT small FROM scope) OR {{document_passes n}})
-- end
-- if strict
          AND {{passes_strict n}}
-- end
-- if excluding
          AND NOT {{contains_excluded n}}
-- end
       ) AS vector_rank,
       (SELECT u.chunks <= :most_compared OR s.small FROM corpus AS u CROSS JOIN scope AS s) AS vector_exact,
-- end
-- unless vector
       CAST(NULL AS float8) AS vector_score, CAST(NULL AS bigint) AS vector_rank, true AS vector_exact,
-- end
-- if text
       (SELECT CAST(t.score AS float8) FROM asked_text AS t) AS text_score,
       (SELECT CASE WHEN EXISTS (SELECT FROM asked_text) THEN 1 + count(*) END
        FROM asked_text AS t
        JOIN scored AS o ON o.score > t.score OR (o.score = t.score AND o.chunk_no < t.chunk_no)
        WHERE {{passes_conditions o}}
       ) AS text_rank
-- end
-- unless text
       CAST(NULL AS float8) AS text_score, CAST(NULL AS bigint) AS text_rank
-- end
