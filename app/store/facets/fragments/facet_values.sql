-- Yields the values of keys of metadata: scalars, and each element of a list once. Objects are no values. Equal values
-- have the same opening and hash, also 1 and 1.0; the hash tells apart those with the same opening.
-- Columns: key, value, the carried column, opening, hash.
-- $pairs  a relation with the columns key, value (jsonb) and the carried one
-- $carried  a column of it, which each value of a pair keeps
SELECT t.key, t.value, t.$carried, {{opening_of_text t.text}} AS opening, jsonb_hash_extended(t.value, 0) AS hash
FROM (
    SELECT v.key, v.value, v.$carried,
           CASE jsonb_typeof(v.value) WHEN 'number' THEN CAST(trim_scale(CAST(v.value AS numeric)) AS text)
                                      ELSE coalesce(v.value #>> '{}', '') END AS text
    FROM (
        SELECT p.key, p.value, p.$carried FROM $pairs AS p WHERE jsonb_typeof(p.value) NOT IN ('array', 'object')
        UNION ALL
        SELECT p.key, x.value, p.$carried
        FROM $pairs AS p
            CROSS JOIN LATERAL (
                SELECT DISTINCT a.value FROM jsonb_array_elements(p.value) AS a (value)
                WHERE jsonb_typeof(a.value) NOT IN ('array', 'object')) AS x
        WHERE jsonb_typeof(p.value) = 'array') AS v) AS t
