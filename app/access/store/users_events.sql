-- Lists a user's events in the audit log as JSON lines, oldest first.
-- Columns: line.
SELECT CAST(json_build_object(
    'at', a.at, 'actor', a.actor, 'action', a.action, 'target', a.target, 'counts', a.counts
) AS text) AS line
FROM stepwell.audit_log AS a
WHERE a.user_id = :user_id
ORDER BY a.at, a.event_id
