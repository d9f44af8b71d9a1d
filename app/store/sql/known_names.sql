-- Which of these names are titles? Those are matched in any spelling of case, wherever their words stand.
-- LIMIT keeps the look-up of an entity a look-up: a join would read all of the user's entities.
-- Columns: name_key, entity_id.
-- :user_id text  whose names
-- :keys bytea[]  the word sequences of a text
SELECT n.name_key, n.entity_id
FROM stepwell.entity_names AS n
CROSS JOIN LATERAL (
    SELECT o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
) AS e
WHERE n.user_id = :user_id AND n.name_key = ANY (:keys) AND e.origin = 'title'
