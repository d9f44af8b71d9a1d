-- Lists the privileges of roles other than the owner on the schema, tables, columns and functions.
-- Columns: one line of text.
-- :schema text  name of the schema
WITH granted (object, acl, owner) AS (
    SELECT format('schema %I', n.nspname), coalesce(n.nspacl, acldefault('n', n.nspowner)), n.nspowner
    FROM pg_namespace AS n
    WHERE n.nspname = :schema
    UNION ALL
    SELECT format('table %I', c.relname), coalesce(c.relacl, acldefault('r', c.relowner)), c.relowner
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = :schema AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
    UNION ALL
    SELECT format('column %I.%I', c.relname, a.attname), a.attacl, c.relowner
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_attribute AS a ON a.attrelid = c.oid
    WHERE n.nspname = :schema AND a.attacl IS NOT NULL
    UNION ALL
    SELECT format('function %s', p.proname), coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner
    FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
    WHERE n.nspname = :schema
)
SELECT format('%s to %s: %s%s', g.object, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee) END,
              string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type),
              CASE WHEN bool_or(a.is_grantable) THEN ' (grantable)' ELSE '' END)
FROM granted AS g
CROSS JOIN aclexplode(g.acl) AS a
WHERE a.grantee <> g.owner
GROUP BY g.object, a.grantee
