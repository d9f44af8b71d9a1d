-- Lists all links, and the chunks to which they lead or that are to be compared with the query.
-- Columns: result_links: chunk_no, signal, weight, entity_id, source_no, chunks, steps, heading; result_chunks: chunk_no.
-- :compared_ids uuid[]  further chunks to compare with the query vector
result_links AS MATERIALIZED (
    SELECT t.chunk_no, 'named' AS signal, t.weight, t.entity_id, CAST(NULL AS bigint) AS source_no,
           CAST(NULL AS bigint) AS chunks, CAST(NULL AS integer) AS steps, t.heading
    FROM named_chunks AS t
    UNION ALL
    SELECT l.chunk_no, 'linked', l.weight, l.entity_id, l.source_no, l.chunks, l.steps, l.heading FROM linked AS l
    UNION ALL
    SELECT s.chunk_no, 'shared', s.weight, s.entity_id, s.source_no, s.chunks, 1, false FROM shared AS s
),
result_chunks AS (
    SELECT c.chunk_no
    FROM unnest(:compared_ids) AS g (chunk_id)
    CROSS JOIN LATERAL (
        SELECT o.chunk_no FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
    ) AS c
    UNION SELECT l.chunk_no FROM result_links AS l
)
