-- Finds which of some word sequences are titles, or headings of several words; both are matched regardless of case.
-- LATERAL with OFFSET or LIMIT forces look-ups by key, independent of the planner's statistics.
-- Columns: name_key, entity_id.
-- :user_id text  owner of the rows
-- :keys bytea[]  keys of the word sequences of a text
SELECT n.name_key, n.entity_id
FROM unnest(:keys) AS g (name_key)
CROSS JOIN LATERAL (
    SELECT o.name_key, o.entity_id
    FROM stepwell.entity_names AS o WHERE o.user_id = :user_id AND o.name_key = g.name_key OFFSET 0
) AS n
CROSS JOIN LATERAL (
    SELECT o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
) AS e
WHERE e.origin = 'title'
   OR (e.origin = 'text' AND position(' '::bytea IN n.name_key) > 0 AND EXISTS (
        SELECT FROM stepwell.headings AS h WHERE h.user_id = :user_id AND h.entity_id = n.entity_id))
