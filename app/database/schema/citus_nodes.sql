-- Asks the nodes of a Citus cluster for what the schema needs there. Requires Citus.
-- Columns: name (host and port), coordinator, holds_shards, success, answer (JSON text with vector, bytes and unmarked, the
-- functions of `inspection` that are not leakproof; an error message without success).
SELECT n.nodename || ':' || n.nodeport AS name, n.groupid = 0 AS coordinator, n.shouldhaveshards AS holds_shards,
       r.success, r.result AS answer
FROM run_command_on_all_nodes(
    $$SELECT json_build_object(
        'vector', (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'vector'),
        'bytes', pg_database_size(current_database()),
        'unmarked', (
            SELECT coalesce(json_agg(CAST(CAST(p.oid AS regprocedure) AS text)), '[]') FROM pg_proc AS p
            WHERE NOT p.proleakproof AND p.oid IN (
                CAST('pg_catalog.jsonb_contains(jsonb, jsonb)' AS regprocedure),
                CAST('pg_catalog.ts_match_vq(tsvector, tsquery)' AS regprocedure))))$$,
    true, true) AS r
JOIN pg_dist_node AS n ON n.nodeid = r.nodeid
ORDER BY n.groupid, name
