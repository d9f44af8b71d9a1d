-- Selects the best chunks by BM25, or none without the text leg. `added` has all chunks whose scores other terms raise.
-- Any other chunk can be among the best only if it is among the best of `generated`.
-- Chunks with equal scores share a rank. At the cut, the chunks stored first are selected.
-- Columns: text_leg: chunk_no, score, rank.
-- part text  the text leg
-- part filtered  filters on documents
-- part strict  phrases and required words
-- part excluding  words and phrases that no hit may contain
-- :candidates bigint  maximum number of chunks that a leg passes to the fusion
-- if text
text_leg AS MATERIALIZED (
    SELECT f.chunk_no, f.score, rank() OVER (ORDER BY f.score DESC) AS rank
    FROM (
-- unless filtered or strict or excluding
        (SELECT c.chunk_no, c.score FROM candidates AS c WHERE NOT (SELECT exist FROM additive) AND {{is_searched c}}
         ORDER BY c.score DESC, c.chunk_no LIMIT :candidates)
        UNION ALL
        (SELECT s.chunk_no, max(s.score)
         FROM (
             (SELECT g.chunk_no, g.score FROM generated AS g WHERE {{is_searched g}} ORDER BY g.score DESC, g.chunk_no LIMIT :candidates)
             UNION ALL
             SELECT a.chunk_no, a.score FROM added AS a WHERE {{is_searched a}}
         ) AS s
         GROUP BY s.chunk_no
         ORDER BY max(s.score) DESC, s.chunk_no
         LIMIT :candidates)
-- end
-- if filtered or strict or excluding
        SELECT o.chunk_no, o.score
        FROM (SELECT s.chunk_no, s.score FROM scored AS s ORDER BY s.score DESC, s.chunk_no OFFSET 0) AS o
        WHERE {{passes_conditions o}}
        LIMIT :candidates
-- end
    ) AS f
)
-- end
-- unless text
text_leg AS MATERIALIZED (
    SELECT CAST(NULL AS bigint) AS chunk_no, CAST(NULL AS real) AS score, CAST(NULL AS bigint) AS rank WHERE false
)
-- end
