-- Reads entities with a role, a description or facts, but no vector of the model that is to replace the one in use.
-- Columns: entity_id, text (the text that is embedded).
-- :user_id text  owner of the rows
-- :limit bigint  maximum number of rows
SELECT e.entity_id, {{description_of_entity e}} AS text
FROM stepwell.entities AS e
WHERE e.user_id = :user_id AND e.origin = 'user' AND {{description_of_entity e}} <> ''
  AND NOT EXISTS (SELECT FROM stepwell.entity_vectors_next AS n WHERE n.user_id = :user_id AND n.entity_id = e.entity_id)
ORDER BY e.entity_id
LIMIT :limit
