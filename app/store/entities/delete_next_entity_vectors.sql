-- Deletes the vectors of entities of the model that is to replace the one in use.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  ids of the entities
DELETE FROM stepwell.entity_vectors_next AS n WHERE n.user_id = :user_id AND n.entity_id = ANY (:entity_ids)
