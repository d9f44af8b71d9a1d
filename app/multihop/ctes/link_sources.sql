-- Selects the chunks from which links start: the given ones, and those that the query names.
-- Columns: sources: chunk_no, document_id, weight.
-- :source_chunk_ids uuid[]  ids of the source chunks
-- :source_weights float8[]  weights of the source chunks, 0 to 1
-- :most_sources bigint  maximum number of sources
sources AS MATERIALIZED (
    SELECT s.chunk_no, s.document_id, max(s.weight) AS weight
    FROM (
        SELECT c.chunk_no, c.document_id, g.weight
        FROM unnest(:source_chunk_ids, :source_weights) AS g (chunk_id, weight)
        CROSS JOIN LATERAL (
            SELECT o.chunk_no, o.document_id FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
        ) AS c
        UNION ALL
        (SELECT t.chunk_no, t.document_id, t.weight FROM named_chunks AS t LIMIT :most_sources)
    ) AS s
    GROUP BY s.chunk_no, s.document_id
    ORDER BY max(s.weight) DESC, s.chunk_no
    LIMIT :most_sources
)
