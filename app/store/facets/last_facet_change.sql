-- Finds the last change of ids of documents that was noted.
-- Columns: place, change_id.
-- :user_id text  owner of the rows
SELECT c.place, c.change_id
FROM stepwell.facet_changes AS c
WHERE c.user_id = :user_id
ORDER BY c.place DESC
LIMIT 1
