-- Lists a user's entities by name. An automatic entity is hidden by the user's own of the same name; that is checked for
-- each row shown, in a subquery that no planner turns into a join over all names.
-- Columns: entity_id.
-- part after  from a position
-- part type  of one type
-- part origin  of one origin
-- :user_id text
-- :after_name text  null: from the beginning
-- :after_id uuid
-- :type text  null: any
-- :origin text  null: any
-- :limit bigint
SELECT e.entity_id
FROM stepwell.entities AS e
WHERE e.user_id = :user_id AND e.origin <> 'text'
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
