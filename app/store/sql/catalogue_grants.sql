-- What the service's role may do.
-- Binds: schema. Columns: one line of text.
-- :schema text
SELECT format('%I: %s', table_name, string_agg(privilege_type, ', ' ORDER BY privilege_type))
FROM information_schema.role_table_grants
WHERE table_schema = :schema AND grantee = 'stepwell_service'
GROUP BY table_name
