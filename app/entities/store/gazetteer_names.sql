-- Lists the names and aliases with some keys that are matched in texts, with their entities.
-- Columns: name_key, name, entity_id.
SELECT n.name_key, n.name, n.entity_id
FROM {{names_by_key}}
WHERE e.origin IN ('user', 'metadata')
