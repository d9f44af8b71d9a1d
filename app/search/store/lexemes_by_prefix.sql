-- Lists stored lexemes within some ranges of the alphabet, the most frequent of each range. The look-up is LATERAL with
-- LIMIT, so that it reads the index of the key. For a restricted caller, lexemes are tested in this order until enough
-- of them are visible: by their postings, or, if the caller sees few chunks, by the texts of these chunks.
-- Columns: first, lexemes (by descending document frequency).
-- part restricted  only lexemes that a chunk contains which the caller sees
-- :firsts text[]  first lexeme of each range
-- :ends text[]  end of each range, not part of it
-- :queries text[]  for each range a tsquery that finds its lexemes
-- :most_read bigint  maximum number of chunks of which the texts are read
-- :limit bigint  maximum number of lexemes of a range
-- if restricted
WITH
{{visible_chunks}},
visible_texts AS MATERIALIZED (
    SELECT sum(d.chunk_count) <= :most_read AS few FROM visible_documents AS d
),
visible_lexemes AS MATERIALIZED (
    SELECT DISTINCT t.lexeme COLLATE "C" AS lexeme
    FROM (
        SELECT o.tsv
        FROM visible_documents AS d
        JOIN stepwell.chunks AS o ON o.user_id = :user_id AND o.document_id = d.document_id
        WHERE (SELECT few FROM visible_texts)
          AND o.tsv @@ (SELECT CAST(string_agg(q.query, ' | ') AS tsquery) FROM unnest(:queries) AS q (query))
        OFFSET 0
    ) AS c
    CROSS JOIN LATERAL unnest(tsvector_to_array(c.tsv)) AS t (lexeme)
    JOIN unnest(:firsts, :ends) AS p (first, after) ON t.lexeme COLLATE "C" >= p.first AND t.lexeme COLLATE "C" < p.after
)
-- end
SELECT p.first, array_agg(l.lexeme ORDER BY l.df DESC, l.lexeme) AS lexemes
FROM unnest(:firsts, :ends) AS p (first, after)
CROSS JOIN LATERAL (
    SELECT o.lexeme, o.df
-- if restricted
    FROM (
        SELECT s.lexeme, s.df
        FROM stepwell.lexemes AS s
        WHERE s.user_id = :user_id AND s.lexeme >= p.first AND s.lexeme < p.after
        ORDER BY s.df DESC, s.lexeme
        OFFSET 0
    ) AS o
    WHERE CASE WHEN (SELECT few FROM visible_texts) THEN o.lexeme IN (SELECT v.lexeme FROM visible_lexemes AS v)
               ELSE {{lexeme_is_visible o.lexeme}} END
-- end
-- unless restricted
    FROM stepwell.lexemes AS o
    WHERE o.user_id = :user_id AND o.lexeme >= p.first AND o.lexeme < p.after
    ORDER BY o.df DESC, o.lexeme
-- end
    LIMIT :limit
) AS l
GROUP BY p.first
