-- Counts the documents that pass filters by folder and by the suffix of the file, as `facets` counts keys of metadata.
-- A folder counts the documents at any depth. A folder is left out if it has all documents, or if all of its documents
-- are in one folder below it.
-- Columns: key ('folder' or 'file_type'), documents, types (documents by type), distinct_values, commonest.
-- :key text  the only key; null: all
-- :key_prefix text  beginning of the keys
-- :value_prefix text  beginning of the values
-- :keys bigint  maximum number of keys
-- :limit bigint  maximum number of values of a key
WITH files AS MATERIALIZED (
    SELECT p.folder, count(*) AS documents,
           lower(CASE WHEN p.name LIKE '%.%' AND coalesce(p.folder, '') NOT LIKE '%:/' THEN split_part(p.name, '.', -1)
                      ELSE substring(p.metadata ->> 'filename' FROM '\.([^.]*)$') END) AS file_type
    FROM (
        SELECT split_part(split_part(d.uri, '#', 1), '/', -1) AS name, d.metadata,
               nullif(left(d.uri, greatest(strpos(d.uri || '#', '#') - 2 - length(split_part(split_part(d.uri, '#', 1), '/', -1)), 0)), '') AS folder
        FROM stepwell.documents AS d
        WHERE d.user_id = :user_id AND {{passes_filters d}}
        -- Keeps the name from being computed for each use of it.
        OFFSET 0) AS p
    GROUP BY p.folder, file_type
),
folders AS (
    SELECT f.folder, f.documents, lead(f.folder) OVER below AS next, lead(f.documents) OVER below AS of_next
    FROM (
        SELECT array_to_string(p.parts[1:n.depth], '/') AS folder, sum(files.documents) AS documents
        FROM files
            CROSS JOIN LATERAL string_to_array(files.folder, '/') AS p (parts)
            CROSS JOIN LATERAL generate_series(1, cardinality(p.parts)) AS n (depth)
        GROUP BY 1) AS f
    WHERE f.folder ~ '[^/:]$'
    WINDOW below AS (ORDER BY f.folder || '/' COLLATE "C")
),
counted AS (
    SELECT 'file_type' AS key, files.file_type AS value, sum(files.documents) AS documents
    FROM files WHERE files.file_type ~ '^[a-z0-9_+-]{1,20}$' GROUP BY files.file_type
    UNION ALL
    SELECT 'folder', f.folder, f.documents
    FROM folders AS f
    WHERE f.documents < (SELECT sum(files.documents) FROM files)
      AND (f.next IS NULL OR f.of_next < f.documents OR NOT starts_with(f.next, f.folder || '/'))
),
ranked AS (
    SELECT c.*, row_number() OVER (PARTITION BY c.key ORDER BY c.documents DESC, c.value) AS place
    FROM counted AS c
    WHERE (:key IS NULL OR c.key = :key) AND starts_with(c.key, lower(:key_prefix)) AND starts_with(lower(c.value), lower(:value_prefix))
)
SELECT r.key, n.documents, jsonb_build_object('string', n.documents) AS types, count(*) AS distinct_values,
       coalesce(jsonb_agg(jsonb_build_array(r.value, r.documents) ORDER BY r.place) FILTER (WHERE r.place <= :limit), '[]') AS commonest
FROM ranked AS r
    CROSS JOIN LATERAL (
        SELECT sum(files.documents) AS documents FROM files
        WHERE CASE r.key WHEN 'folder' THEN files.folder ELSE files.file_type END IS NOT NULL) AS n
GROUP BY r.key, n.documents
ORDER BY n.documents DESC, r.key
LIMIT :keys
