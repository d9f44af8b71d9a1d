-- Counts the documents that pass filters by key of metadata and by value, exactly; the keys of most documents first.
-- Columns: key, documents, types (documents by type), distinct_values, commonest (the commonest values, as [[value, documents]]).
-- :key text  the only key; null: all
-- :key_prefix text  beginning of the keys
-- :value_prefix text  beginning of the values
-- :keys bigint  maximum number of keys
-- :limit bigint  maximum number of values of a key
WITH pairs AS MATERIALIZED (
    SELECT e.key, e.value, count(*) AS documents
    FROM stepwell.documents AS d CROSS JOIN LATERAL jsonb_each(d.metadata) AS e (key, value)
    WHERE d.user_id = :user_id AND {{passes_filters d}} AND {{is_facet e.key}}
      AND (:key IS NULL OR e.key = :key) AND (:key_prefix = '' OR starts_with(lower(e.key), lower(:key_prefix)))
    GROUP BY e.key, e.value
),
keys AS (
    SELECT t.key, sum(t.documents) AS documents, jsonb_object_agg(t.type, t.documents) AS types
    FROM (SELECT p.key, jsonb_typeof(p.value) AS type, sum(p.documents) AS documents
          FROM pairs AS p GROUP BY p.key, jsonb_typeof(p.value)) AS t
    GROUP BY t.key
    ORDER BY sum(t.documents) DESC, t.key
    LIMIT :keys
),
ranked AS (
    SELECT v.key, v.value, sum(v.documents) AS documents,
           row_number() OVER (PARTITION BY v.key ORDER BY sum(v.documents) DESC, v.opening, v.hash) AS place,
           count(*) OVER (PARTITION BY v.key) AS distinct_values
    FROM ({{facet_values pairs}}) AS v
    WHERE {{has_prefix v.value, :value_prefix}}
    GROUP BY v.key, v.opening, v.hash, v.value
)
SELECT k.key, k.documents, k.types, coalesce(max(r.distinct_values), 0) AS distinct_values,
       coalesce(jsonb_agg(jsonb_build_array(r.value, r.documents) ORDER BY r.place)
                    FILTER (WHERE r.place <= :limit), '[]') AS commonest
FROM keys AS k LEFT JOIN ranked AS r ON r.key = k.key AND r.place <= greatest(:limit, 1)
GROUP BY k.key, k.documents, k.types
ORDER BY k.documents DESC, k.key
