-- Lists every constraint except NOT NULL, which is part of the column list.
-- Columns: one line of text.
-- :schema text  name of the schema
SELECT format('%I %I %s', r.relname, c.conname, pg_get_constraintdef(c.oid))
FROM pg_constraint c
JOIN pg_class r ON r.oid = c.conrelid
JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE n.nspname = :schema AND c.contype <> 'n'
