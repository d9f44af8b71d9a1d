-- Removes mentions by their keys. Binds: user_id, and one array a column. Columns: none.
-- :user_id text
-- :entity_ids uuid[]
-- :chunk_nos bigint[]
-- :kinds text[]
DELETE FROM stepwell.mentions AS m
USING unnest(:entity_ids, :chunk_nos, :kinds) AS g (entity_id, chunk_no, kind)
WHERE m.user_id = :user_id AND m.entity_id = g.entity_id AND m.chunk_no = g.chunk_no AND m.kind = g.kind
