-- Finds the ids of keys that conditions ask for.
-- Columns: place (of the condition), ids.
-- :user_id text  owner of the rows
-- :places integer[]  the conditions
-- :keys text[]  the key of each
-- :types text[]  the type of its value, or null
SELECT w.place, array_agg(k.id) AS ids
FROM unnest(:places, :keys, :types) AS w (place, key, type)
    JOIN stepwell.facet_keys AS k ON k.user_id = :user_id AND k.key = w.key AND k.type = coalesce(w.type, k.type)
WHERE k.id IS NOT NULL
GROUP BY w.place
