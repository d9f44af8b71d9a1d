-- Lists values by their ids, in the order of their text: some all, and of others the first of each key.
-- Columns: id, key, value.
-- :user_id text  owner of the rows
-- :ids integer[]  ids of those that are all listed
-- :tied integer[]  ids of the others
-- :keys text[]  keys of the others
-- :counts integer[]  maximum number of them of each key
SELECT v.id, v.key, v.value
FROM (
    SELECT f.id, f.key, f.value, f.opening, f.hash
    FROM stepwell.facet_values AS f
    WHERE f.user_id = :user_id AND f.id = ANY (:ids)
    UNION ALL
    SELECT t.id, t.key, t.value, t.opening, t.hash
    FROM (SELECT f.id, f.key, f.value, f.opening, f.hash,
                 row_number() OVER (PARTITION BY f.key ORDER BY f.opening, f.hash) AS place
          FROM stepwell.facet_values AS f
          WHERE f.user_id = :user_id AND f.id = ANY (:tied)) AS t
        JOIN unnest(:keys, :counts) AS k (key, most) ON k.key = t.key AND t.place <= k.most) AS v
ORDER BY v.opening, v.hash
