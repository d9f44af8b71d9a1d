-- Lists the tables that have row-level security and a policy.
-- Columns: name.
-- :schema text  name of the schema
SELECT c.relname AS name
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = :schema AND c.relrowsecurity AND EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid)
