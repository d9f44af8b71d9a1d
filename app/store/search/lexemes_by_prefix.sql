-- Lists stored lexemes within some ranges of the alphabet, the most frequent of each range. The look-up is LATERAL with
-- LIMIT, so that it reads the index of the key.
-- Columns: first, lexemes (by descending document frequency).
-- part restricted  only lexemes that a chunk contains which the caller sees
-- :user_id text  owner of the rows
-- :firsts text[]  first lexeme of each range
-- :ends text[]  end of each range, not part of it
-- :limit bigint  maximum number of lexemes of a range
-- if restricted
WITH
{{visible_chunks}},
visible_lexemes AS MATERIALIZED (
    SELECT DISTINCT t.lexeme COLLATE "C" AS lexeme
    FROM visible_documents AS d
    JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.document_id = d.document_id
    CROSS JOIN LATERAL unnest(c.tsv) AS t
    JOIN unnest(:firsts, :ends) AS p (first, after) ON t.lexeme COLLATE "C" >= p.first AND t.lexeme COLLATE "C" < p.after
    WHERE (SELECT few FROM visible)
)
-- end
SELECT p.first, array_agg(l.lexeme ORDER BY l.df DESC, l.lexeme) AS lexemes
FROM unnest(:firsts, :ends) AS p (first, after)
CROSS JOIN LATERAL (
    SELECT o.lexeme, o.df
    FROM stepwell.lexemes AS o
    WHERE o.user_id = :user_id AND o.lexeme >= p.first AND o.lexeme < p.after
-- if restricted
      AND CASE WHEN (SELECT few FROM visible) THEN o.lexeme IN (SELECT v.lexeme FROM visible_lexemes AS v)
               ELSE {{lexeme_is_visible o.lexeme}} END
-- end
    ORDER BY o.df DESC, o.lexeme
    LIMIT :limit
) AS l
GROUP BY p.first
