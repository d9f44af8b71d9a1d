-- Lists the indexes of the live schema with access method, validity and definition.
-- Columns: name, kind, valid, definition.
-- :schema text  name of the schema
SELECT c.relname AS name, m.amname AS kind, i.indisvalid AS valid, pg_get_indexdef(c.oid) AS definition
FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid
JOIN pg_am m ON m.oid = c.relam
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = :schema
