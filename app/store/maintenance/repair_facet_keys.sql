-- Computes the difference between the stored counts of keys and the metadata of the documents, with the stored values.
-- Columns: key, type, documents and distinct_values (the numbers to add).
-- :user_id text  owner of the rows
WITH both_counts AS (
    SELECT e.key, jsonb_typeof(e.value) AS type, count(*) AS documents, 0 AS distinct_values
    FROM stepwell.documents AS d CROSS JOIN LATERAL jsonb_each(d.metadata) AS e (key, value)
    WHERE d.user_id = :user_id AND {{is_facet e.key}}
    GROUP BY e.key, jsonb_typeof(e.value)
    UNION ALL
    SELECT v.key, jsonb_typeof(v.value), 0, count(*)
    FROM stepwell.facet_values AS v WHERE v.user_id = :user_id AND v.documents > 0
    GROUP BY v.key, jsonb_typeof(v.value)
    UNION ALL
    SELECT k.key, k.type, -k.documents, -k.distinct_values FROM stepwell.facet_keys AS k WHERE k.user_id = :user_id
)
SELECT b.key, b.type, CAST(sum(b.documents) AS bigint) AS documents, CAST(sum(b.distinct_values) AS bigint) AS distinct_values
FROM both_counts AS b
GROUP BY b.key, b.type
HAVING sum(b.documents) <> 0 OR sum(b.distinct_values) <> 0
