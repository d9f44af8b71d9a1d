-- Counts the postings of some chunks in a page of a user's blocks of postings.
-- Columns: postings, lexeme and first_no (of the last block of the page; null after the last page).
-- :user_id text  owner of the rows
-- :numbers text::int8multirange  numbers of the chunks
-- :lexeme text  lexeme of the block after which to begin
-- :first_no bigint  first number of that block
-- :limit bigint  maximum number of blocks
WITH page AS MATERIALIZED (
    SELECT p.lexeme, p.first_no, p.items
    FROM stepwell.postings AS p
    WHERE p.user_id = :user_id AND (p.lexeme, p.first_no) > (:lexeme COLLATE "C", :first_no)
    ORDER BY p.lexeme, p.first_no
    LIMIT :limit
)
SELECT (SELECT count(*) FROM page AS g CROSS JOIN LATERAL unnest(g.items) AS i (item)
        WHERE g.first_no < upper(:numbers) AND ({{posting_chunk i.item}}) <@ :numbers) AS postings,
       l.lexeme, l.first_no
FROM (SELECT) AS one
LEFT JOIN (SELECT g.lexeme, g.first_no FROM page AS g ORDER BY g.lexeme DESC, g.first_no DESC LIMIT 1) AS l ON true
