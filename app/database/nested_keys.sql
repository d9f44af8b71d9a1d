-- Finds which keys inside of the metadata no visible document has.
-- Columns: path.
-- :paths text[]  JSON paths of the keys
SELECT p.path
FROM unnest(:paths) AS p (path)
WHERE NOT EXISTS (
    SELECT FROM stepwell.documents AS d
    WHERE d.user_id = :user_id AND jsonb_path_exists(d.metadata, CAST(p.path AS jsonpath), '{}', true) AND {{passes_filters d}}
)
