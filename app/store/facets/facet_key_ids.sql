-- Lists the keys of a user's metadata by type, in the order of the keys.
-- Columns: id, key, type, documents (all that have it), last_key, last_value (the largest ids of a key and of a value),
-- most_documents (that have any key).
-- :user_id text  owner of the rows
-- part one_key  of one key
-- :key text  the key
-- part of_keys  of the keys with a prefix
-- :prefix text  the prefix
SELECT k.id, k.key, k.type, k.documents,
       (SELECT max(l.id) FROM stepwell.facet_keys AS l WHERE l.user_id = :user_id) AS last_key,
       (SELECT coalesce(max(v.id), 0) FROM stepwell.facet_values AS v WHERE v.user_id = :user_id) AS last_value,
       (SELECT max(m.documents) FROM stepwell.facet_keys AS m WHERE m.user_id = :user_id) AS most_documents
FROM stepwell.facet_keys AS k
WHERE k.user_id = :user_id AND k.documents > 0 AND k.id IS NOT NULL
-- if one_key
  AND k.key = :key
-- end
-- if of_keys
  AND starts_with(lower(k.key), lower(:prefix))
-- end
ORDER BY k.key
