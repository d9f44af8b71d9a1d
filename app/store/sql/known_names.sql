-- Which of these names are known in any spelling of case: titles, and what users and metadata name?
-- Columns: name_key, entity_id.
-- :user_id text  whose names
-- :keys bytea[]  the word sequences of a text
SELECT n.name_key, n.entity_id
FROM stepwell.entity_names AS n
JOIN stepwell.entities AS e ON e.user_id = :user_id AND e.entity_id = n.entity_id AND e.origin <> 'text'
WHERE n.user_id = :user_id AND n.name_key = ANY (:keys)
