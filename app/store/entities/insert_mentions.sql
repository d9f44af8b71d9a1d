-- Stores mentions; a mention that already exists keeps the larger count. The arrays are parallel.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  entity of each mention
-- :chunk_nos bigint[]  chunk of each mention
-- :document_ids uuid[]  document of each mention
-- :kinds text[]  kind of each mention
-- :counts integer[]  count of each mention
INSERT INTO stepwell.mentions AS m (user_id, entity_id, chunk_no, document_id, kind, count)
SELECT :user_id, g.entity_id, g.chunk_no, g.document_id, g.kind, g.count
FROM unnest(:entity_ids, :chunk_nos, :document_ids, :kinds, :counts) AS g (entity_id, chunk_no, document_id, kind, count)
ON CONFLICT (user_id, entity_id, chunk_no, kind) DO UPDATE
SET count = excluded.count WHERE m.count < excluded.count
