-- Finds the ids of a key's values with a prefix.
-- Columns: ids, four bytes each.
-- :user_id text  owner of the rows
-- :key text  the key
-- :prefix text  the prefix
SELECT coalesce(string_agg(int4send(v.id), ''), '') AS ids
FROM stepwell.facet_values AS v
WHERE v.user_id = :user_id AND v.key = :key AND v.documents > 0
  AND starts_with(v.opening, {{opening_of_text :prefix}}) AND starts_with(lower(v.value #>> '{}'), lower(:prefix))
