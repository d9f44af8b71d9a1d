-- Lists all users by name with the number of their keys and stored rows. Requires the database's owner.
-- Columns: user_id, keys (neither revoked nor expired), documents, chunks, entities (not those that only texts name).
SELECT u.user_id, coalesce(k.n, 0) AS keys, coalesce(d.n, 0) AS documents, coalesce(d.chunks, 0) AS chunks,
       coalesce(e.n, 0) AS entities
FROM (SELECT t.user_id FROM stepwell.tenants AS t UNION SELECT a.user_id FROM stepwell.api_keys AS a) AS u
LEFT JOIN (
    SELECT a.user_id, count(*) AS n
    FROM stepwell.api_keys AS a
    WHERE a.revoked_at IS NULL AND (a.expires_at IS NULL OR a.expires_at > now())
    GROUP BY a.user_id
) AS k ON k.user_id = u.user_id
LEFT JOIN (
    SELECT d.user_id, count(*) AS n, sum(d.chunk_count) AS chunks FROM stepwell.documents AS d GROUP BY d.user_id
) AS d ON d.user_id = u.user_id
LEFT JOIN (SELECT e.user_id, count(*) AS n FROM stepwell.entities AS e WHERE e.origin <> 'text' GROUP BY e.user_id) AS e ON e.user_id = u.user_id
ORDER BY u.user_id
