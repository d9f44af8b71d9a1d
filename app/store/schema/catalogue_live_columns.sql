-- Lists the columns of the live schema with their types.
-- Columns: name (table.column), type.
-- :schema text  name of the schema
SELECT c.relname || '.' || a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE n.nspname = :schema AND c.relkind IN ('r', 'p')
