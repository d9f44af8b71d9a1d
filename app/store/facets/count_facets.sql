-- Counts the metadata of documents that were stored, and no longer that of those which were changed or deleted. A new key
-- or value gets the next id of the user.
-- The caller holds the user's lock.
-- Columns: none.
-- :user_id text  owner of the rows
-- :added text[]  metadata of new versions, as JSON objects
-- :removed text[]  metadata of versions that are no longer stored, as JSON objects
WITH pairs AS MATERIALIZED (
    SELECT e.key, e.value, CAST(sum(m.documents) AS bigint) AS documents
    FROM (SELECT CAST(a.metadata AS jsonb) AS metadata, 1 AS documents FROM unnest(:added) AS a (metadata)
          UNION ALL
          SELECT CAST(r.metadata AS jsonb), -1 FROM unnest(:removed) AS r (metadata)) AS m
        CROSS JOIN LATERAL jsonb_each(m.metadata) AS e (key, value)
    WHERE {{is_facet e.key}}
    GROUP BY e.key, e.value
    HAVING sum(m.documents) <> 0
),
changes AS MATERIALIZED (
    SELECT v.key, v.opening, v.hash, (array_agg(v.value))[1] AS value, CAST(sum(v.documents) AS bigint) AS documents
    FROM ({{facet_values pairs, documents}}) AS v
    GROUP BY v.key, v.opening, v.hash
    HAVING sum(v.documents) <> 0
),
counted AS (
    INSERT INTO stepwell.facet_values AS f (user_id, key, opening, hash, value, documents, id)
    SELECT :user_id, n.key, n.opening, n.hash, n.value, n.documents,
           coalesce(n.id, (SELECT coalesce(max(m.id), 0) FROM stepwell.facet_values AS m WHERE m.user_id = :user_id)
                          + count(*) FILTER (WHERE n.id IS NULL) OVER (ORDER BY n.key, n.opening, n.hash))
    FROM (SELECT c.key, c.opening, c.hash, c.value, c.documents,
                 (SELECT f.id FROM stepwell.facet_values AS f
                  WHERE f.user_id = :user_id AND f.key = c.key AND f.opening = c.opening AND f.hash = c.hash) AS id
          FROM changes AS c) AS n
    ON CONFLICT (user_id, key, opening, hash) DO UPDATE
    SET documents = f.documents + excluded.documents, id = coalesce(f.id, excluded.id)
    RETURNING f.key, f.opening, f.hash, f.documents
),
types AS (
    SELECT p.key, jsonb_typeof(p.value) AS type, p.documents, 0 AS distinct_values FROM pairs AS p
    UNION ALL
    SELECT c.key, jsonb_typeof(c.value), 0,
           CASE WHEN n.documents = c.documents THEN 1 WHEN n.documents = 0 THEN -1 ELSE 0 END
    FROM changes AS c JOIN counted AS n ON n.key = c.key AND n.opening = c.opening AND n.hash = c.hash
),
summed AS (
    SELECT t.key, t.type, sum(t.documents) AS documents, sum(t.distinct_values) AS distinct_values,
           (SELECT k.id FROM stepwell.facet_keys AS k
            WHERE k.user_id = :user_id AND k.key = t.key AND k.type = t.type) AS id
    FROM types AS t
    GROUP BY t.key, t.type
    HAVING sum(t.documents) <> 0 OR sum(t.distinct_values) <> 0
)
INSERT INTO stepwell.facet_keys AS k (user_id, key, type, documents, distinct_values, id)
SELECT :user_id, s.key, s.type, s.documents, s.distinct_values,
       coalesce(s.id, (SELECT coalesce(max(m.id), 0) FROM stepwell.facet_keys AS m WHERE m.user_id = :user_id)
                      + count(*) FILTER (WHERE s.id IS NULL) OVER (ORDER BY s.key, s.type))
FROM summed AS s
ON CONFLICT (user_id, key, type) DO UPDATE
SET documents = k.documents + excluded.documents, distinct_values = k.distinct_values + excluded.distinct_values,
    id = coalesce(k.id, excluded.id)
