-- Lists all names and aliases that are matched in texts, with their entities, 1,000 names per row.
-- Columns: names, entity_ids (parallel arrays).
-- part restricted  for a restricted caller, whose own role sees the visible ones only
SELECT array_agg(f.name) AS names, array_agg(f.entity_id) AS entity_ids
FROM (
    SELECT n.name, n.entity_id, row_number() OVER () / 1000 AS part
-- if restricted
    FROM stepwell.names_to_match(:user_id) AS n
-- end
-- unless restricted
    FROM stepwell.entity_names AS n
    CROSS JOIN LATERAL (
        SELECT o.origin FROM stepwell.entities AS o
        WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
    ) AS e
    WHERE n.user_id = :user_id AND e.origin IN ('user', 'metadata')
-- end
) AS f
GROUP BY f.part
