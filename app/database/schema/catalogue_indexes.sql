-- Lists the definition of every index.
-- Columns: one line of text.
-- :schema text  name of the schema
SELECT indexdef FROM pg_indexes WHERE schemaname = :schema
