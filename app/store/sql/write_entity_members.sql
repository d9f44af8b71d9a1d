-- Stores what entities contain. Binds: user_id, and one array a column. Columns: none.
-- :user_id text
-- :entity_ids uuid[]
-- :member_ids uuid[]
INSERT INTO stepwell.entity_members (user_id, entity_id, member_id)
SELECT :user_id, g.entity_id, g.member_id FROM unnest(:entity_ids, :member_ids) AS g (entity_id, member_id)
ON CONFLICT (user_id, entity_id, member_id) DO NOTHING
