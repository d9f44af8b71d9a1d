-- Deletes mentions by entity, chunk and kind.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  entity of each mention
-- :chunk_nos bigint[]  chunk of each mention
-- :kinds text[]  kind of each mention
DELETE FROM stepwell.mentions AS m
USING unnest(:entity_ids, :chunk_nos, :kinds) AS g (entity_id, chunk_no, kind)
WHERE m.user_id = :user_id AND m.entity_id = g.entity_id AND m.chunk_no = g.chunk_no AND m.kind = g.kind
