-- Counts the chunks that pass the filters, and decides whether they are few enough to be scanned exactly.
-- Columns: scope: chunks, small (true: scanned exactly); filtered_chunks (with filters; empty unless small): chunk_no,
--   distance.
-- part vector  the vector leg
-- part filtered  filters on documents
-- if filtered
filtered_documents AS MATERIALIZED (
    SELECT d.document_id, d.chunk_count
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id
      AND {{passes_filters d}}
    LIMIT (SELECT most + 1 FROM costs)
),
scope AS MATERIALIZED (
    SELECT s.chunks, s.chunks <= c.most AS small
    FROM costs AS c CROSS JOIN (SELECT CAST(coalesce(sum(a.chunk_count), 0) AS bigint) AS chunks FROM filtered_documents AS a) AS s
),
filtered_chunks AS MATERIALIZED (
    SELECT e.chunk_no,
-- if vector
           e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
-- end
-- unless vector
           0 AS distance
-- end
    FROM filtered_documents AS a
    JOIN stepwell.embeddings AS e ON e.user_id = :user_id AND e.document_id = a.document_id
    WHERE (SELECT small FROM scope)
)
-- end
-- unless filtered
scope AS MATERIALIZED (
    SELECT CAST(u.chunks AS bigint) AS chunks, u.chunks <= c.most AS small FROM costs AS c CROSS JOIN corpus AS u
)
-- end
