-- Finds mentions and headings whose entity does not exist, or whose chunk does not exist in their document.
-- Columns: source ('mentions' or 'headings'), entity_id, chunk_no.
-- :user_id text  owner of the rows
SELECT 'mentions' AS source, m.entity_id, m.chunk_no
FROM stepwell.mentions AS m
LEFT JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = m.chunk_no AND c.document_id = m.document_id
LEFT JOIN stepwell.entities AS e ON e.user_id = :user_id AND e.entity_id = m.entity_id
WHERE m.user_id = :user_id AND (c.chunk_no IS NULL OR e.entity_id IS NULL)
UNION ALL
SELECT 'headings', h.entity_id, h.chunk_no
FROM stepwell.headings AS h
LEFT JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = h.chunk_no AND c.document_id = h.document_id
LEFT JOIN stepwell.entities AS e ON e.user_id = :user_id AND e.entity_id = h.entity_id
WHERE h.user_id = :user_id AND (c.chunk_no IS NULL OR e.entity_id IS NULL)
