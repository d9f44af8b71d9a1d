-- Counts how many stored counts of keys and values differ from the metadata of the documents.
-- Columns: differing.
WITH pairs AS MATERIALIZED (
    SELECT e.key, e.value, count(*) AS documents
    FROM stepwell.documents AS d CROSS JOIN LATERAL jsonb_each(d.metadata) AS e (key, value)
    WHERE d.user_id = :user_id AND {{is_facet e.key}}
    GROUP BY e.key, e.value
),
of_values AS MATERIALIZED (
    SELECT c.key, jsonb_typeof(c.value) AS type, sum(c.documents) AS documents, sum(c.stored) AS stored
    FROM (SELECT v.key, v.opening, v.hash, v.value, v.documents, 0 AS stored FROM ({{facet_values pairs}}) AS v
          UNION ALL
          SELECT f.key, f.opening, f.hash, f.value, 0, f.documents
          FROM stepwell.facet_values AS f WHERE f.user_id = :user_id) AS c
    GROUP BY c.key, c.opening, c.hash, jsonb_typeof(c.value)
),
of_types AS (
    SELECT p.key, jsonb_typeof(p.value) AS type, p.documents, 0 AS distinct_values FROM pairs AS p
    UNION ALL
    SELECT v.key, v.type, 0, 1 FROM of_values AS v WHERE v.documents > 0
    UNION ALL
    SELECT k.key, k.type, -k.documents, -k.distinct_values FROM stepwell.facet_keys AS k WHERE k.user_id = :user_id
)
SELECT (SELECT count(*) FROM of_values AS v WHERE v.documents <> v.stored) + (
           SELECT count(*) FROM (
               SELECT FROM of_types AS t GROUP BY t.key, t.type
               HAVING sum(t.documents) <> 0 OR sum(t.distinct_values) <> 0) AS d) AS differing
