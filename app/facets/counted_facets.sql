-- Lists the keys of a user's metadata with the stored counts of all documents; the keys of most documents first.
-- Columns: key, documents, types (documents by type), distinct_values, commonest (the commonest values, as [[value, documents]]).
-- :key text  the only key; null: all
-- :key_prefix text  beginning of the keys
-- :value_prefix text  beginning of the values
-- :keys bigint  maximum number of keys
-- :limit bigint  maximum number of values of a key
WITH keys AS MATERIALIZED (
    SELECT k.key, sum(k.documents) AS documents, sum(k.distinct_values) AS distinct_values,
           jsonb_object_agg(k.type, k.documents) FILTER (WHERE k.documents > 0) AS types
    FROM stepwell.facet_keys AS k
    WHERE k.user_id = :user_id AND (:key IS NULL OR k.key = :key) AND (:key_prefix = '' OR starts_with(lower(k.key), lower(:key_prefix)))
    GROUP BY k.key
    HAVING sum(k.documents) > 0
    ORDER BY sum(k.documents) DESC, k.key
    LIMIT :keys
)
SELECT k.key, k.documents, k.types,
       CASE :value_prefix WHEN '' THEN k.distinct_values ELSE (
           SELECT count(*) FROM stepwell.facet_values AS v
           WHERE v.user_id = :user_id AND v.key = k.key AND {{has_prefix v.value, :value_prefix}}) END AS distinct_values,
       coalesce((
           SELECT jsonb_agg(jsonb_build_array(c.value, c.documents) ORDER BY c.documents DESC, c.opening, c.hash)
           FROM (SELECT v.value, v.documents, v.opening, v.hash
                 FROM stepwell.facet_values AS v
                 WHERE v.user_id = :user_id AND v.key = k.key AND {{has_prefix v.value, :value_prefix}}
                 ORDER BY v.documents DESC, v.opening, v.hash
                 LIMIT :limit) AS c), '[]') AS commonest
FROM keys AS k
ORDER BY k.documents DESC, k.key
