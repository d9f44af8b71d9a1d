-- Lists a user's judgements of hits as JSON lines, oldest first.
-- Columns: line.
SELECT CAST(json_build_object(
    'at', f.at, 'query', f.query, 'document_id', f.document_id, 'chunk_id', f.chunk_id, 'helpful', f.helpful
) AS text) AS line
FROM stepwell.feedback AS f
WHERE f.user_id = :user_id
ORDER BY f.at, f.feedback_id
