-- Lists a user's entities by name. An automatic entity is omitted if the user has added one with the same name; a
-- subquery checks this for each returned row, because a join would read all names.
-- Columns: entity_id.
-- part after  continue after a position
-- part restricted  entities that the caller sees
-- :after_name text  name of the last row of the previous page
-- :after_id uuid  entity_id of that row
-- :type? text  only one type
-- :origin? text  only one origin
-- :limit bigint  maximum number of entities
SELECT e.entity_id
-- if restricted
FROM (SELECT o.* FROM stepwell.visible_entities(:user_id) AS o ORDER BY o.name, o.entity_id OFFSET 0) AS e
WHERE true
-- end
-- unless restricted
FROM stepwell.entities AS e
WHERE e.user_id = :user_id AND e.origin <> 'text'
-- end
-- if after
  AND (e.name, e.entity_id) > (:after_name, :after_id)
-- end
-- if type
  AND e.type = :type
-- end
-- if origin
  AND e.origin = :origin
-- end
  AND (e.origin = 'user' OR (
        SELECT true
        FROM stepwell.entity_names AS mine
        CROSS JOIN LATERAL (
            SELECT o.entity_id
            FROM stepwell.entity_names AS o WHERE o.user_id = :user_id AND o.name_key = mine.name_key OFFSET 0
        ) AS theirs
        CROSS JOIN LATERAL (
            SELECT o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = theirs.entity_id LIMIT 1
        ) AS own
        WHERE mine.user_id = :user_id AND mine.entity_id = e.entity_id AND own.origin = 'user'
        LIMIT 1) IS NULL)
ORDER BY e.name, e.entity_id
LIMIT :limit
