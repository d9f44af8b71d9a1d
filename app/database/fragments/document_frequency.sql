-- Looks up how many of the user's chunks contain a lexeme. LIMIT makes the join a look-up by key, whatever the planner's
-- statistics say.
-- $lexeme  a lexeme with the collation "C"
SELECT o.df FROM stepwell.lexemes AS o WHERE o.user_id = :user_id AND o.lexeme = $lexeme LIMIT 1
