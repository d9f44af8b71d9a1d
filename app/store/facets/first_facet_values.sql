-- Lists the first values of keys among those marked in a bit map by id, in the order of their text.
-- Columns: id, key, value.
-- :user_id text  owner of the rows
-- :keys text[]  keys
-- :counts integer[]  maximum number of values of each key
-- :marked bytea  a bit for each id
SELECT v.id, v.key, v.value
FROM unnest(:keys, :counts) AS k (key, most)
    -- The index contains these columns.
    CROSS JOIN LATERAL (
        SELECT f.opening, f.hash FROM stepwell.facet_values AS f
        WHERE f.user_id = :user_id AND f.key = k.key AND get_bit(:marked, f.id) = 1
        ORDER BY f.opening, f.hash
        LIMIT k.most) AS m
    JOIN stepwell.facet_values AS v
        ON v.user_id = :user_id AND v.key = k.key AND v.opening = m.opening AND v.hash = m.hash
ORDER BY v.opening, v.hash
