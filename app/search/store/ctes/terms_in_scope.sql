-- Selects the terms that visible chunks contain. If the scope is small, the postings of all terms are compared with it
-- at once. Otherwise, the chunks of each term are looked up until one is visible. Words that begin with a prefix are
-- not tested: they were chosen among the words of visible chunks.
-- Columns: terms_in_scope: lexeme.
-- part restricted  the frequency of a term is 0 if the caller sees no chunk that contains it; with filters
-- part indexed  conditions of an expression
-- :expansions text[]  lexemes that begin with a prefix of the query
-- if restricted
terms_in_scope AS MATERIALIZED (
    SELECT DISTINCT p.lexeme
    FROM (
        SELECT t.lexeme, unnest(b.items) AS item
        FROM terms AS t
        CROSS JOIN LATERAL (
            SELECT o.items FROM stepwell.postings AS o WHERE o.user_id = :user_id AND o.lexeme = t.lexeme OFFSET 0
        ) AS b
        WHERE (SELECT small FROM scope)
-- if indexed
          AND t.lexeme <> ALL (:expansions)
-- end
        OFFSET 0
    ) AS p
    WHERE {{posting_chunk p.item}} IN (SELECT a.chunk_no FROM filtered_chunks AS a)
-- if indexed
    UNION ALL
    SELECT x.lexeme FROM unnest(:expansions) AS x (lexeme)
-- end
    UNION ALL
    SELECT t.lexeme FROM terms AS t WHERE NOT (SELECT small FROM scope) AND t.df > 0
-- if indexed
      AND t.lexeme <> ALL (:expansions)
-- end
      AND (
        SELECT true
        FROM stepwell.postings AS b
        CROSS JOIN LATERAL {{chunks_of_postings b.items}} AS i
        CROSS JOIN LATERAL (
            SELECT FROM stepwell.chunks AS c WHERE c.user_id = :user_id AND c.chunk_no = i.chunk_no LIMIT 1
        ) AS v
        WHERE b.user_id = :user_id AND b.lexeme = t.lexeme
        LIMIT 1)
)
-- end
