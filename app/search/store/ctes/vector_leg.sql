-- Selects the nearest chunks, through the HNSW graph or exactly, or none without the vector leg. The conditions on `small`
-- and `few` make all but one of the sources empty. With `graph` or `exact` there is one source, without the condition.
-- Columns: vector_leg: chunk_no, score (cosine similarity), rank.
-- part vector  the vector leg
-- part filtered  filters on documents
-- part strict  phrases and required words
-- part excluding  words and phrases that no hit may contain
-- part exclusions  chunks that are excluded from the hits
-- part graph  the graph is searched, whatever the binds
-- part exact  the scope is scanned exactly, whatever the binds
-- :candidates bigint  maximum number of chunks that a leg passes to the fusion
-- if vector
-- unless exact
nearest_by_index AS MATERIALIZED (
    SELECT n.chunk_no, n.distance
    FROM (
        SELECT e.chunk_no, e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
        FROM stepwell.embeddings AS e
        WHERE e.user_id = :user_id
-- unless graph
          AND NOT (SELECT small FROM scope)
-- end
-- if strict
          AND NOT (SELECT few FROM strict_size)
-- end
-- if exclusions
          AND e.chunk_no NOT IN (SELECT x.chunk_no FROM excluded_chunks AS x)
-- end
-- if filtered
          AND {{document_passes e}}
-- end
-- if strict
          AND (NOT (SELECT nominated FROM strict_scope) OR e.chunk_no IN (SELECT r.chunk_no FROM strict_chunks AS r))
          AND {{passes_strict e}}
-- end
-- if excluding
          AND NOT {{contains_excluded e}}
-- end
        ORDER BY e.embedding <=> (SELECT q.vector FROM query_vector AS q)
        FETCH FIRST (CAST(:candidates AS bigint)) ROWS WITH TIES
    ) AS n
    ORDER BY n.distance, n.chunk_no
    LIMIT :candidates
),
-- end
-- unless graph
nearest_exactly AS MATERIALIZED (
    SELECT o.chunk_no, o.distance
    FROM (
        SELECT n.chunk_no, n.distance
        FROM (
-- if filtered
            SELECT a.chunk_no, a.distance FROM filtered_chunks AS a
-- if strict
            WHERE NOT (SELECT nominated FROM strict_scope) OR a.chunk_no IN (SELECT r.chunk_no FROM strict_chunks AS r)
-- end
-- end
-- unless filtered
-- if strict
            (
-- end
            SELECT e.chunk_no, e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
            FROM stepwell.embeddings AS e
            WHERE e.user_id = :user_id
-- unless exact
              AND (SELECT small FROM scope)
-- end
-- if strict
              AND NOT (SELECT few FROM strict_size)
-- end
            OFFSET 0
-- if strict
            )
-- end
-- end
-- if strict
            UNION ALL
            SELECT r.chunk_no, e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
            FROM (SELECT DISTINCT a.chunk_no FROM strict_chunks AS a) AS r
            CROSS JOIN LATERAL (
                SELECT o.document_id, o.embedding
                FROM stepwell.embeddings AS o WHERE o.user_id = :user_id AND o.chunk_no = r.chunk_no LIMIT 1
            ) AS e
            WHERE (SELECT few FROM strict_size)
-- if filtered
              AND NOT (SELECT small FROM scope) AND {{document_passes e}}
-- end
-- end
        ) AS n
-- if exclusions
        WHERE n.chunk_no NOT IN (SELECT x.chunk_no FROM excluded_chunks AS x)
-- end
        ORDER BY n.distance, n.chunk_no
-- unless strict or excluding
        LIMIT :candidates
-- end
    ) AS o
-- if strict or excluding
    WHERE true
-- if strict
      AND {{passes_strict o}}
-- end
-- if excluding
      AND NOT {{contains_excluded o}}
-- end
    LIMIT :candidates
-- end
),
-- end
vector_leg AS MATERIALIZED (
    SELECT n.chunk_no, 1 - n.distance AS score, rank() OVER (ORDER BY n.distance) AS rank
    FROM (
-- unless exact
        SELECT i.chunk_no, i.distance FROM nearest_by_index AS i
-- end
-- unless graph or exact
        UNION ALL
-- end
-- unless graph
        SELECT s.chunk_no, s.distance FROM nearest_exactly AS s
-- end
    ) AS n
)
-- end
-- unless vector
vector_leg AS MATERIALIZED (
    SELECT CAST(NULL AS bigint) AS chunk_no, CAST(NULL AS float8) AS score, CAST(NULL AS bigint) AS rank WHERE false
)
-- end
