-- Lists values by their ids, in the order of their text.
-- Columns: id, key, value.
-- :user_id text  owner of the rows
-- :ids integer[]  ids
SELECT f.id, f.key, f.value
FROM stepwell.facet_values AS f
WHERE f.user_id = :user_id AND f.id = ANY (:ids)
ORDER BY f.opening, f.hash
