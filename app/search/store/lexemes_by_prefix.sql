-- Lists stored lexemes within some ranges of the alphabet, the most frequent of each range. The look-up is LATERAL with
-- LIMIT, so that it reads the index of the key. For a restricted caller, lexemes are tested in this order until enough
-- of them are visible, by their postings. If the caller sees few chunks, lexemes are counted in the texts of these.
-- Columns: first, lexemes (by descending document frequency).
-- part restricted  only lexemes that a chunk contains which the caller sees
-- part counted  frequencies are counted among the chunks that the caller sees
-- :firsts text[]  first lexeme of each range
-- :ends text[]  end of each range, not part of it
-- :queries text[]  for each range a tsquery that finds its lexemes
-- :limit bigint  maximum number of lexemes of a range
-- if restricted or counted
WITH
{{visible_chunks}}
-- end
-- if counted
, seen_lexemes AS MATERIALIZED (
    SELECT p.first, t.lexeme COLLATE "C" AS lexeme, count(*) AS df
    FROM (
        SELECT o.tsv
        FROM visible_chunks AS v
        JOIN stepwell.chunks AS o ON o.user_id = :user_id AND o.chunk_no = v.chunk_no
        WHERE o.tsv @@ (SELECT CAST(string_agg(q.query, ' | ') AS tsquery) FROM unnest(:queries) AS q (query))
        OFFSET 0
    ) AS c
    CROSS JOIN LATERAL unnest(tsvector_to_array(c.tsv)) AS t (lexeme)
    JOIN unnest(:firsts, :ends) AS p (first, after) ON t.lexeme COLLATE "C" >= p.first AND t.lexeme COLLATE "C" < p.after
    GROUP BY p.first, t.lexeme
)
-- end
SELECT p.first, array_agg(l.lexeme ORDER BY l.df DESC, l.lexeme) AS lexemes
FROM unnest(:firsts, :ends) AS p (first, after)
CROSS JOIN LATERAL (
    SELECT o.lexeme, o.df
-- if counted
    FROM seen_lexemes AS o
    WHERE o.first = p.first
    ORDER BY o.df DESC, o.lexeme
-- end
-- if restricted
    FROM (
        SELECT s.lexeme, s.df
        FROM stepwell.lexemes AS s
        WHERE s.user_id = :user_id AND s.lexeme >= p.first AND s.lexeme < p.after
        ORDER BY s.df DESC, s.lexeme
        OFFSET 0
    ) AS o
    WHERE {{lexeme_is_visible o.lexeme}}
-- end
-- unless restricted or counted
    FROM stepwell.lexemes AS o
    WHERE o.user_id = :user_id AND o.lexeme >= p.first AND o.lexeme < p.after
    ORDER BY o.df DESC, o.lexeme
-- end
    LIMIT :limit
) AS l
GROUP BY p.first
