-- Computes the difference between the stored counts of values and the metadata of the documents. Concurrent writes do not
-- change the difference, since they change both sides equally.
-- Columns: key, opening, hash, value (as text), documents (the number to add).
-- :user_id text  owner of the rows
WITH pairs AS MATERIALIZED (
    SELECT e.key, e.value, count(*) AS documents
    FROM stepwell.documents AS d CROSS JOIN LATERAL jsonb_each(d.metadata) AS e (key, value)
    WHERE d.user_id = :user_id AND {{is_facet e.key}}
    GROUP BY e.key, e.value
),
both_counts AS (
    SELECT v.key, v.opening, v.hash, CAST(v.value AS text) AS value, v.documents FROM ({{facet_values pairs, documents}}) AS v
    UNION ALL
    SELECT f.key, f.opening, f.hash, CAST(f.value AS text), -f.documents
    FROM stepwell.facet_values AS f WHERE f.user_id = :user_id
)
SELECT b.key, b.opening, b.hash, max(b.value) AS value, CAST(sum(b.documents) AS bigint) AS documents
FROM both_counts AS b
GROUP BY b.key, b.opening, b.hash
HAVING sum(b.documents) <> 0
