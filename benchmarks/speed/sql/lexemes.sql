-- Derives a user's document frequencies and last blocks from the postings.
-- Columns: none.
-- :user_id text
INSERT INTO stepwell.lexemes (user_id, lexeme, df, tail_no, tail_size)
SELECT :user_id, p.lexeme, sum(cardinality(p.items)), max(p.first_no),
       (array_agg(cardinality(p.items) ORDER BY p.first_no DESC))[1]
FROM stepwell.postings AS p
WHERE p.user_id = :user_id
GROUP BY p.lexeme
ORDER BY p.lexeme
