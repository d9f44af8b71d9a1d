-- Lists a user's sources as JSON lines.
-- Columns: line.
SELECT CAST(json_build_object(
    'source_id', s.source_id, 'name', s.name, 'path', s.path, 'glob', s.glob, 'created_at', s.created_at, 'synced_at', s.synced_at,
    'text_field', s.text_field, 'watch', s.watch, 'files', (
        SELECT coalesce(json_agg(json_build_object('path', f.path, 'error', f.error) ORDER BY f.path), '[]')
        FROM stepwell.source_files AS f
        WHERE f.user_id = :user_id AND f.source_id = s.source_id)
) AS text) AS line
FROM stepwell.sources AS s
WHERE s.user_id = :user_id
ORDER BY s.created_at, s.source_id
