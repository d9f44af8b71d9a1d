-- Reads, for each document, its chunk nearest to a query vector. Without a query vector it reads the first chunk.
-- Look-ups are LATERAL with LIMIT, so that one plan serves all binds.
-- Columns: one row per document with the columns of chunks_by_id.sql, in the order of the documents.
-- :linked_ids uuid[]  the documents
-- :exclude_chunk_ids uuid[]  chunks to exclude
-- :limit bigint  maximum number of rows
WITH query_vector AS MATERIALIZED (
    {{query_vector}}
)
SELECT c.chunk_id, c.document_id, d.source_id, d.title, d.uri, c.content, c.chunk_index, c.start_offset, c.end_offset,
       c.heading_path, d.metadata, nullif(width_bucket((c.start_offset + c.end_offset) / 2, d.page_starts), 0) AS page,
       1 - c.distance AS similarity
FROM unnest(:linked_ids) WITH ORDINALITY AS g (document_id, place)
CROSS JOIN LATERAL (
    SELECT o.document_id, o.source_id, o.title, o.uri, o.metadata, o.moments, o.created_at, o.page_starts
    FROM stepwell.documents AS o WHERE o.user_id = :user_id AND o.document_id = g.document_id LIMIT 1
) AS d
CROSS JOIN LATERAL (
    SELECT k.*, e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
    FROM (
        SELECT o.chunk_no, o.embedding FROM stepwell.embeddings AS o
        WHERE o.user_id = :user_id AND o.document_id = g.document_id OFFSET 0
    ) AS e
    CROSS JOIN LATERAL (
        SELECT o.* FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = e.chunk_no LIMIT 1
    ) AS k
    WHERE k.chunk_id <> ALL (:exclude_chunk_ids)
    ORDER BY distance, k.chunk_no
    LIMIT 1
) AS c
WHERE {{passes_filters d}}
ORDER BY g.place
LIMIT :limit
