-- Reports which operators that searches use keep their index under row-level security.
-- Columns: name (as ALTER FUNCTION takes it), leakproof.
SELECT CAST(CAST(p.oid AS regprocedure) AS text) AS name, p.proleakproof AS leakproof
FROM pg_proc AS p
WHERE p.oid IN (
    CAST('pg_catalog.ts_match_vq(tsvector, tsquery)' AS regprocedure),
    CAST('pg_catalog.jsonb_contains(jsonb, jsonb)' AS regprocedure)
)
ORDER BY name
