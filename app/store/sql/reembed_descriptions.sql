-- Reads entities whose description has no vector of the model that is to replace the one in use.
-- Columns: entity_id, text (the text that is embedded).
-- :user_id text  owner of the rows
-- :limit bigint  maximum number of rows
SELECT e.entity_id, e.name || ': ' || e.description AS text
FROM stepwell.entity_vectors AS v
JOIN stepwell.entities AS e ON e.user_id = :user_id AND e.entity_id = v.entity_id AND e.description IS NOT NULL
WHERE v.user_id = :user_id
  AND NOT EXISTS (SELECT FROM stepwell.entity_vectors_next AS n WHERE n.user_id = :user_id AND n.entity_id = v.entity_id)
ORDER BY e.entity_id
LIMIT :limit
