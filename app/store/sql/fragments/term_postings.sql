-- The postings of some terms, a row each. OFFSET 0 keeps the blocks from being read once for each use of an item.
-- $condition  which terms, as a condition on the alias t
-- :user_id text
SELECT b.weight, b.per_token, unnest(b.items) AS item
        FROM (
            SELECT t.weight, t.per_token, p.items
            FROM terms AS t
            JOIN stepwell.postings AS p ON p.user_id = :user_id AND p.lexeme = t.lexeme
            WHERE $condition
            OFFSET 0
        ) AS b
