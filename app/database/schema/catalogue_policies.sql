-- Lists for every table whether row-level security is enabled, and its policies.
-- Columns: one line of text.
-- :schema text  name of the schema
SELECT format('%I %s%s %s', c.relname,
              CASE WHEN c.relrowsecurity THEN 'ENABLED' ELSE 'off' END,
              CASE WHEN c.relforcerowsecurity THEN ' FORCED' ELSE '' END,
              coalesce((SELECT string_agg(format('%s%s FOR %s USING %s CHECK %s', p.policyname,
                                                 CASE p.permissive WHEN 'RESTRICTIVE' THEN format(' RESTRICTIVE TO %s', p.roles) ELSE '' END,
                                                 p.cmd, regexp_replace(p.qual, '\s+', ' ', 'g'), p.with_check),
                                          ', ' ORDER BY p.policyname)
                        FROM pg_policies p WHERE p.schemaname = n.nspname AND p.tablename = c.relname), ''))
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = :schema AND c.relkind IN ('r', 'p')
