-- Every index as Postgres would write it.
-- Binds: schema. Columns: one line of text.
-- :schema text
SELECT indexdef FROM pg_indexes WHERE schemaname = :schema
