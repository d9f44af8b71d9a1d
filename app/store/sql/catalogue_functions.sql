-- Every function, whole.
-- Binds: schema. Columns: one text a function.
-- :schema text
SELECT pg_get_functiondef(p.oid)
FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = :schema
