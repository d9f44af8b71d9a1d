-- Reads chunks by id with their content and their similarity to a query vector.
-- Columns: one row per chunk; similarity is null without a vector.
-- :chunk_ids uuid[]  ids of the chunks
WITH query_vector AS MATERIALIZED (
    {{query_vector}}
)
SELECT c.chunk_id, c.document_id, d.source_id, d.title, d.uri, c.content, c.chunk_index, c.start_offset, c.end_offset,
       c.heading_path, d.metadata, nullif(width_bucket((c.start_offset + c.end_offset) / 2, d.page_starts), 0) AS page,
       1 - (v.embedding <=> (SELECT a.vector FROM query_vector AS a)) AS similarity
FROM unnest(:chunk_ids) AS g (chunk_id)
CROSS JOIN LATERAL (SELECT o.* FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1) AS c
CROSS JOIN LATERAL (SELECT o.* FROM stepwell.documents AS o WHERE o.user_id = :user_id AND o.document_id = c.document_id LIMIT 1) AS d
CROSS JOIN LATERAL (SELECT o.embedding FROM stepwell.embeddings AS o WHERE o.user_id = :user_id AND o.chunk_no = c.chunk_no LIMIT 1) AS v
