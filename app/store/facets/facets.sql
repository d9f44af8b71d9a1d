-- Counts the documents that have each key of metadata and each value, exactly; the keys of most documents first.
-- Columns: key, documents, types (documents by type), distinct_values, commonest (the commonest values, as [[value, documents]]).
-- :user_id text  owner of the rows
-- part one_key  of one key
-- :key text  the key
-- part of_keys  of the keys with a prefix
-- part of_values  only values with a prefix
-- :prefix text  the prefix
-- :keys bigint  maximum number of keys
-- :limit bigint  maximum number of values of a key
WITH pairs AS MATERIALIZED (
    SELECT e.key, e.value, count(*) AS documents
    FROM stepwell.documents AS d
-- if one_key
        CROSS JOIN LATERAL (SELECT :key AS key, d.metadata -> :key AS value) AS e
-- end
-- unless one_key
        CROSS JOIN LATERAL jsonb_each(d.metadata) AS e (key, value)
-- end
    WHERE d.user_id = :user_id AND e.value IS NOT NULL AND {{is_facet e.key}}
-- if of_keys
      AND starts_with(lower(e.key), lower(:prefix))
-- end
      AND {{passes_filters d}}
    GROUP BY e.key, e.value
),
types AS (
    SELECT t.key, sum(t.documents) AS documents, jsonb_object_agg(t.type, t.documents) AS types
    FROM (SELECT p.key, jsonb_typeof(p.value) AS type, sum(p.documents) AS documents
          FROM pairs AS p GROUP BY p.key, jsonb_typeof(p.value)) AS t
    GROUP BY t.key
    ORDER BY sum(t.documents) DESC, t.key
    LIMIT :keys
),
counted AS (
    SELECT v.key, v.value, v.opening, v.hash, sum(v.documents) AS documents
    FROM ({{facet_values pairs, documents}}) AS v
-- if of_values
    WHERE starts_with(lower(v.value #>> '{}'), lower(:prefix))
-- end
    GROUP BY v.key, v.opening, v.hash, v.value
),
ranked AS (
    SELECT c.key, c.value, c.documents,
           row_number() OVER (PARTITION BY c.key ORDER BY c.documents DESC, c.opening, c.hash) AS place,
           count(*) OVER (PARTITION BY c.key) AS distinct_values
    FROM counted AS c
),
shown AS (
    SELECT r.key, max(r.distinct_values) AS distinct_values,
           jsonb_agg(jsonb_build_array(r.value, r.documents) ORDER BY r.place) AS commonest
    FROM ranked AS r
    WHERE r.place <= :limit
    GROUP BY r.key
)
SELECT t.key, t.documents, t.types, coalesce(s.distinct_values, 0) AS distinct_values,
       coalesce(s.commonest, '[]') AS commonest
FROM types AS t LEFT JOIN shown AS s ON s.key = t.key
ORDER BY t.documents DESC, t.key
