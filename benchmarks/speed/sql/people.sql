-- Turns entities that were created for names into people that the user has added.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  ids of the entities
WITH people AS (
    UPDATE stepwell.entities SET origin = 'user', type = 'person'
    WHERE user_id = :user_id AND entity_id = ANY (:entity_ids) AND origin <> 'user'
    RETURNING entity_id
)
UPDATE stepwell.tenants SET names_version = names_version + 1, version = version + 1
WHERE user_id = :user_id AND EXISTS (SELECT FROM people)
