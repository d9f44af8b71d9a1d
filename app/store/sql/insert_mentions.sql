-- Stores mentions; an existing one keeps the larger count.
-- Binds: user_id, and one array a column. Columns: none.
-- :user_id text
-- :entity_ids uuid[]
-- :chunk_nos bigint[]
-- :document_ids uuid[]
-- :kinds text[]
-- :counts integer[]
INSERT INTO stepwell.mentions AS m (user_id, entity_id, chunk_no, document_id, kind, count)
SELECT :user_id, g.entity_id, g.chunk_no, g.document_id, g.kind, g.count
FROM unnest(:entity_ids, :chunk_nos, :document_ids, :kinds, :counts) AS g (entity_id, chunk_no, document_id, kind, count)
ON CONFLICT (user_id, entity_id, chunk_no, kind) DO UPDATE
SET count = excluded.count WHERE m.count < excluded.count
