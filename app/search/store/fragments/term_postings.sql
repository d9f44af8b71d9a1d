-- Selects the postings of some terms, one per row. OFFSET 0 prevents a block from being read once for each use of an
-- item.
-- $condition  condition on the alias t that selects the terms
SELECT b.weight, b.per_token, unnest(b.items) AS item
        FROM (
            SELECT t.weight, t.per_token, p.items
            FROM terms AS t
            JOIN stepwell.postings AS p ON p.user_id = :user_id AND p.lexeme = t.lexeme
            WHERE $condition
            OFFSET 0
        ) AS b
