-- Yields the values of keys of metadata: scalars, and each element of a list once. Objects do not count. Equal values
-- have the same opening and hash, even 1 and 1.0. The opening is the beginning of a value's text in lower case, by
-- which values are listed. The hash distinguishes values with the same opening.
-- Columns: key, value, documents, opening, hash.
-- $pairs  a relation with the columns key, value (jsonb) and documents
SELECT v.key, v.value, v.documents, jsonb_hash_extended(v.value, 0) AS hash,
       left(lower(CASE jsonb_typeof(v.value) WHEN 'number' THEN CAST(trim_scale(CAST(v.value AS numeric)) AS text)
                                             ELSE coalesce(v.value #>> '{}', '') END), 100) COLLATE "C" AS opening
FROM (
    SELECT p.key, p.value, p.documents FROM $pairs AS p WHERE jsonb_typeof(p.value) NOT IN ('array', 'object')
    UNION ALL
    SELECT p.key, x.value, p.documents
    FROM $pairs AS p
        CROSS JOIN LATERAL (
            SELECT DISTINCT a.value FROM jsonb_array_elements(p.value) AS a (value)
            WHERE jsonb_typeof(a.value) NOT IN ('array', 'object')) AS x
    WHERE jsonb_typeof(p.value) = 'array') AS v
