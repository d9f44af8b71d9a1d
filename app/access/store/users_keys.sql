-- Lists a user's API keys as JSON lines, without the hashes of their secrets, with the number of uses per day and
-- scope.
-- Columns: line.
SELECT CAST(json_build_object(
    'key_id', k.key_id, 'scopes', k.scopes, 'name', k.name, 'created_at', k.created_at, 'expires_at', k.expires_at,
    'revoked_at', k.revoked_at, 'filters', k.filters, 'entities', k.filters IS NULL OR k.shows_entities,
    'uses', (
        SELECT coalesce(json_agg(json_build_object('day', u.day, 'scope', u.scope, 'uses', u.uses)
                                 ORDER BY u.day, u.scope), '[]')
        FROM stepwell.key_uses AS u WHERE u.user_id = :user_id AND u.key_id = k.key_id
    )
) AS text) AS line
FROM stepwell.api_keys AS k
WHERE k.user_id = :user_id
ORDER BY k.created_at, k.key_id
