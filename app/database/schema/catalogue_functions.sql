-- Lists the definition of every function.
-- Columns: one text per function.
-- :schema text  name of the schema
SELECT pg_get_functiondef(p.oid)
FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = :schema
