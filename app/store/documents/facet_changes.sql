-- Lists a user's changes of ids of documents from one on, in their order.
-- Columns: place, change_id, added, removed.
-- :user_id text  owner of the rows
-- :place bigint  place of the first
SELECT c.place, c.change_id, c.added, c.removed
FROM stepwell.facet_changes AS c
WHERE c.user_id = :user_id AND c.place >= :place
ORDER BY c.place
