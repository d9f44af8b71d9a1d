-- Reports whether the functions behind the search operators are leakproof, which lets them use an index under row-level
-- security.
-- Columns: name (with argument types, as ALTER FUNCTION requires), leakproof.
SELECT CAST(CAST(p.oid AS regprocedure) AS text) AS name, p.proleakproof AS leakproof
FROM pg_proc AS p
WHERE p.oid IN (
    CAST('pg_catalog.ts_match_vq(tsvector, tsquery)' AS regprocedure),
    CAST('pg_catalog.jsonb_contains(jsonb, jsonb)' AS regprocedure)
)
ORDER BY name
