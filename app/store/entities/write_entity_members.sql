-- Stores the members of entities.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  entity of each membership
-- :member_ids uuid[]  member of each membership
INSERT INTO stepwell.entity_members (user_id, entity_id, member_id)
SELECT :user_id, g.entity_id, g.member_id FROM unnest(:entity_ids, :member_ids) AS g (entity_id, member_id)
ON CONFLICT (user_id, entity_id, member_id) DO NOTHING
