-- How many of a user's chunks match a tsquery?
-- Columns: matches.
-- :user_id text
-- :query text  the words, joined by | or &
SELECT count(*) AS matches
FROM stepwell.chunks AS c
WHERE c.user_id = :user_id AND c.tsv @@ to_tsquery('english', :query)
