-- Lists the keys of a user's metadata with the counts that are kept of all documents; the keys of most documents first.
-- Columns: key, documents, types (documents by type), distinct_values, commonest (the commonest values, as [[value, documents]]).
-- :user_id text  owner of the rows
-- part one_key  of one key
-- :key text  the key
-- part of_keys  of the keys with a prefix
-- part of_values  only values with a prefix
-- :prefix text  the prefix
-- :keys bigint  maximum number of keys
-- :limit bigint  maximum number of values of a key
WITH keys AS MATERIALIZED (
    SELECT k.key, sum(k.documents) AS documents, sum(k.distinct_values) AS distinct_values,
           jsonb_object_agg(k.type, k.documents) FILTER (WHERE k.documents > 0) AS types
    FROM stepwell.facet_keys AS k
    WHERE k.user_id = :user_id
-- if one_key
      AND k.key = :key
-- end
-- if of_keys
      AND starts_with(lower(k.key), lower(:prefix))
-- end
    GROUP BY k.key
    HAVING sum(k.documents) > 0
    ORDER BY sum(k.documents) DESC, k.key
    LIMIT :keys
)
-- if of_values
, matching AS MATERIALIZED (
    SELECT v.value, v.documents, v.opening, v.hash
    FROM stepwell.facet_values AS v
    WHERE v.user_id = :user_id AND v.key = :key AND v.documents > 0
      AND starts_with(v.opening, {{opening_of_text :prefix}}) AND starts_with(lower(v.value #>> '{}'), lower(:prefix))
)
-- end
SELECT k.key, k.documents, k.types,
-- if of_values
       (SELECT count(*) FROM matching) AS distinct_values,
-- end
-- unless of_values
       k.distinct_values,
-- end
       coalesce((
           SELECT jsonb_agg(jsonb_build_array(c.value, c.documents) ORDER BY c.documents DESC, c.opening, c.hash)
           FROM (SELECT v.value, v.documents, v.opening, v.hash
-- if of_values
                 FROM matching AS v
-- end
-- unless of_values
                 FROM stepwell.facet_values AS v
                 WHERE v.user_id = :user_id AND v.key = k.key AND v.documents > 0
-- end
                 ORDER BY v.documents DESC, v.opening, v.hash
                 LIMIT :limit) AS c), '[]') AS commonest
FROM keys AS k
ORDER BY k.documents DESC, k.key
