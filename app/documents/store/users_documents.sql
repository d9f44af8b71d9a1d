-- Lists a user's documents as JSON lines, oldest first.
-- Columns: line.
SELECT CAST(json_build_object(
    'document_id', d.document_id, 'uri', d.uri, 'title', d.title, 'metadata', d.metadata, 'content', d.content,
    'language', d.config, 'source_id', d.source_id, 'source_path', d.source_path, 'created_at', d.created_at,
    'updated_at', d.updated_at
) AS text) AS line
FROM stepwell.documents AS d
WHERE d.user_id = :user_id
ORDER BY d.created_at, d.document_id
