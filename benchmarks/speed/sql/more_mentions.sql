-- Adds mentions of an entity in random chunks that mention others, until :chunks chunks mention it.
-- Columns: none.
-- :user_id text  owner of the rows
-- :entity_id uuid  the entity
-- :others uuid[]  entities in whose chunks it is mentioned
-- :chunks bigint  number of chunks that mention it then
INSERT INTO stepwell.mentions (user_id, entity_id, chunk_no, document_id, kind, count)
SELECT :user_id, :entity_id, m.chunk_no, m.document_id, 'text', 1
FROM (
    SELECT DISTINCT o.chunk_no, o.document_id FROM stepwell.mentions AS o
    WHERE o.user_id = :user_id AND o.entity_id = ANY (:others) AND o.kind = 'text'
      AND NOT EXISTS (
          SELECT FROM stepwell.mentions AS own
          WHERE own.user_id = :user_id AND own.entity_id = :entity_id AND own.chunk_no = o.chunk_no)
) AS m
ORDER BY md5(CAST(m.chunk_no AS text))
LIMIT greatest(0, :chunks - (
    SELECT count(DISTINCT o.chunk_no) FROM stepwell.mentions AS o WHERE o.user_id = :user_id AND o.entity_id = :entity_id))
