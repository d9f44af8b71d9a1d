-- The names and aliases with some keys as `n`, and their entities as `e`.
-- LATERAL with OFFSET or LIMIT forces look-ups by key, independent of the planner's statistics.
-- :keys bytea[]  keys of the names
unnest(:keys) AS g (name_key)
CROSS JOIN LATERAL (
    SELECT o.* FROM stepwell.entity_names AS o WHERE o.user_id = :user_id AND o.name_key = g.name_key OFFSET 0
) AS n
CROSS JOIN LATERAL (
    SELECT o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
) AS e
