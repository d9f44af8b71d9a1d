-- Lists a user's changes of ids and attributes of documents from one on, in their order.
-- Columns: place, change_id, added, added_attributes, added_texts, removed, removed_attributes, removed_texts.
-- :user_id text  owner of the rows
-- :place bigint  place of the first
SELECT c.place, c.change_id, c.added, c.added_attributes, c.added_texts, c.removed, c.removed_attributes, c.removed_texts
FROM stepwell.facet_changes AS c
WHERE c.user_id = :user_id AND c.place >= :place
ORDER BY c.place
