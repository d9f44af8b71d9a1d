-- Lists the mentions in some chunks: of the user's own entities (every kind), and of entities from metadata and some
-- other entities (kind text).
-- Columns: entity_id, chunk_no, document_id, kind, count, origin.
-- :user_id text  owner of the rows
-- :chunk_nos bigint[]  numbers of the chunks
-- :besides uuid[]  other entities
SELECT m.entity_id, m.chunk_no, m.document_id, m.kind, m.count, e.origin
FROM unnest(:chunk_nos) AS g (chunk_no)
CROSS JOIN LATERAL (
    SELECT o.entity_id, o.chunk_no, o.document_id, o.kind, o.count
    FROM stepwell.mentions AS o WHERE o.user_id = :user_id AND o.chunk_no = g.chunk_no OFFSET 0
) AS m
CROSS JOIN LATERAL (
    SELECT o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = m.entity_id LIMIT 1
) AS e
WHERE e.origin = 'user' OR (m.kind = 'text' AND (e.origin = 'metadata' OR m.entity_id = ANY (:besides)))
