-- Adds the metadata of stored documents to the counts, and subtracts the metadata of changed or deleted documents.
-- The caller holds the user's lock.
-- Columns: none.
-- part all  count the documents that are stored
-- :added text[]  metadata of new versions, as JSON objects
-- :removed text[]  metadata of versions that are no longer stored, as JSON objects
WITH pairs AS MATERIALIZED (
    SELECT e.key, e.value, CAST(sum(m.documents) AS bigint) AS documents
-- if all
    FROM (SELECT d.metadata, 1 AS documents FROM stepwell.documents AS d WHERE d.user_id = :user_id) AS m
-- end
-- unless all
    FROM (SELECT CAST(a.metadata AS jsonb) AS metadata, 1 AS documents FROM unnest(:added) AS a (metadata)
          UNION ALL
          SELECT CAST(r.metadata AS jsonb), -1 FROM unnest(:removed) AS r (metadata)) AS m
-- end
        CROSS JOIN LATERAL jsonb_each(m.metadata) AS e (key, value)
    WHERE {{is_facet e.key}}
    GROUP BY e.key, e.value
    HAVING sum(m.documents) <> 0
),
changes AS MATERIALIZED (
    SELECT v.key, v.opening, v.hash, (array_agg(v.value))[1] AS value, CAST(sum(v.documents) AS bigint) AS documents
    FROM ({{facet_values pairs}}) AS v
    GROUP BY v.key, v.opening, v.hash
    HAVING sum(v.documents) <> 0
),
counted AS (
    INSERT INTO stepwell.facet_values AS f (user_id, key, opening, hash, value, documents)
    SELECT :user_id, c.key, c.opening, c.hash, c.value, c.documents FROM changes AS c
    ON CONFLICT (user_id, key, opening, hash) DO UPDATE SET documents = f.documents + excluded.documents
    RETURNING f.key, f.opening, f.hash, f.documents
),
types AS (
    SELECT p.key, jsonb_typeof(p.value) AS type, p.documents, 0 AS distinct_values FROM pairs AS p
    UNION ALL
    SELECT c.key, jsonb_typeof(c.value), 0,
           CASE WHEN n.documents = c.documents THEN 1 WHEN n.documents = 0 THEN -1 ELSE 0 END
    FROM changes AS c JOIN counted AS n ON n.key = c.key AND n.opening = c.opening AND n.hash = c.hash
)
INSERT INTO stepwell.facet_keys AS k (user_id, key, type, documents, distinct_values)
SELECT :user_id, t.key, t.type, sum(t.documents), sum(t.distinct_values)
FROM types AS t
GROUP BY t.key, t.type
HAVING sum(t.documents) <> 0 OR sum(t.distinct_values) <> 0
ON CONFLICT (user_id, key, type) DO UPDATE
SET documents = k.documents + excluded.documents, distinct_values = k.distinct_values + excluded.distinct_values
