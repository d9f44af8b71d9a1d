-- Looks up the blocks of a lexeme's postings. OFFSET makes the join a look-up by key, whatever the planner's statistics
-- say.
-- $lexeme  a lexeme with the collation "C"
SELECT o.items FROM stepwell.postings AS o WHERE o.user_id = :user_id AND o.lexeme = $lexeme OFFSET 0
