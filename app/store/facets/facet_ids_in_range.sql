-- Finds the ids of a key's values within bounds.
-- Columns: ids, four bytes each.
-- :user_id text  owner of the rows
-- :key text  the key
-- :type text  number, or string for dates and times
-- part gte  a bound, as the three below
-- part gt  the same
-- part lte  the same
-- part lt  the same
-- :gte numeric  the number, or microseconds since 1970
-- :gt numeric  the same
-- :lte numeric  the same
-- :lt numeric  the same
SELECT coalesce(string_agg(int4send(f.id), ''), '') AS ids
FROM stepwell.facet_values AS f
WHERE f.user_id = :user_id AND f.key = :key AND f.documents > 0 AND f.id IS NOT NULL AND jsonb_typeof(f.value) = :type
-- if gte
  AND f.magnitude >= :gte
-- end
-- if gt
  AND f.magnitude > :gt
-- end
-- if lte
  AND f.magnitude <= :lte
-- end
-- if lt
  AND f.magnitude < :lt
-- end
