-- Selects the postings of some terms, one per row. OFFSET 0 prevents a block from being read once for each use of an
-- item.
-- $condition  condition on the alias t that selects the terms
SELECT b.weight, b.per_token, unnest(b.items) AS item
        FROM (
            SELECT t.weight, t.per_token, p.items
            FROM terms AS t
            CROSS JOIN LATERAL (
                SELECT o.items FROM stepwell.postings AS o WHERE o.user_id = :user_id AND o.lexeme = t.lexeme OFFSET 0
            ) AS p
            WHERE $condition
            OFFSET 0
        ) AS b
