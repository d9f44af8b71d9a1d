-- Lists the names and aliases with some keys that are matched in texts, with their entities.
-- Columns: name_key, name, entity_id.
-- :keys bytea[]  keys of the names
SELECT n.name_key, n.name, n.entity_id
FROM unnest(:keys) AS g (name_key)
CROSS JOIN LATERAL (
    SELECT o.name_key, o.name, o.entity_id
    FROM stepwell.entity_names AS o WHERE o.user_id = :user_id AND o.name_key = g.name_key OFFSET 0
) AS n
CROSS JOIN LATERAL (
    SELECT o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
) AS e
WHERE e.origin IN ('user', 'metadata')
