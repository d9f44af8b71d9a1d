-- Reports whether the function behind `@>` is leakproof, which lets metadata filters use their index under row-level
-- security.
-- Columns: name (with argument types, as ALTER FUNCTION requires), leakproof.
SELECT CAST(CAST(p.oid AS regprocedure) AS text) AS name, p.proleakproof AS leakproof
FROM pg_proc AS p
WHERE p.oid = CAST('pg_catalog.jsonb_contains(jsonb, jsonb)' AS regprocedure)
