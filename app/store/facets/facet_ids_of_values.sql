-- Finds the ids of values that conditions ask for.
-- Columns: place (of the condition), ids, documents (at most so many have one of them).
-- :user_id text  owner of the rows
-- :places integer[]  the condition of each value
-- :keys text[]  its key
-- :values text[]  the value as JSON: a scalar
WITH wanted AS MATERIALIZED (
    SELECT w.place, w.key, CAST(w.value AS jsonb) AS value FROM unnest(:places, :keys, :values) AS w (place, key, value)
),
-- Materialised, because an index is looked up by columns only under row-level security.
found AS MATERIALIZED (SELECT v.* FROM ({{facet_values wanted, place}}) AS v)
SELECT v.place, array_agg(f.id) AS ids, CAST(sum(f.documents) AS bigint) AS documents
FROM found AS v
    CROSS JOIN LATERAL (
        SELECT k.id, k.documents FROM stepwell.facet_values AS k
        WHERE k.user_id = :user_id AND k.key = v.key AND k.opening = v.opening AND k.hash = v.hash
          AND k.documents > 0 AND k.id IS NOT NULL
        LIMIT 1) AS f
GROUP BY v.place
