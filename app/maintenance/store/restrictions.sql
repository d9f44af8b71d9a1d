-- Lists the statements that are still required to restrict the service's role, and to let it in.
-- Privileges of PUBLIC are revoked only if no other role is affected: every other role that may log in is a superuser
-- or the connected role, which must own the database.
-- Columns: statement.
-- :role text  the service's role
-- :names text[]  settings of the role
-- :settings text[]  values of the settings
WITH service AS (SELECT r.oid, r.rolname, r.rolconfig, r.rolsuper FROM pg_roles AS r WHERE r.rolname = :role),
sole_login_role AS (
    SELECT FROM service
    WHERE NOT EXISTS (
        SELECT FROM pg_roles AS r
        WHERE r.rolcanlogin AND NOT r.rolsuper AND r.rolname NOT IN (current_user, :role)
    )
),
owned_databases AS (
    SELECT d.datname, d.datname = current_database() AS current
    FROM pg_database AS d
    CROSS JOIN sole_login_role
    WHERE d.datname IN (current_database(), 'postgres', 'template1') AND pg_has_role(current_user, d.datdba, 'USAGE')
)
SELECT format('ALTER ROLE %I SET %I = %L', s.rolname, w.name, w.setting) AS statement
FROM service AS s
CROSS JOIN unnest(:names, :settings) AS w (name, setting)
WHERE format('%s=%s', w.name, w.setting) <> ALL (coalesce(s.rolconfig, '{}'))
UNION ALL
SELECT format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', o.datname)
FROM owned_databases AS o
WHERE o.current AND has_database_privilege(:role, o.datname, 'TEMPORARY')
UNION ALL
SELECT format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', o.datname)
FROM owned_databases AS o
WHERE NOT o.current AND has_database_privilege(:role, o.datname, 'CONNECT')
UNION ALL
SELECT format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', n.nspname)
FROM pg_namespace AS n
CROSS JOIN sole_login_role
WHERE n.nspname = 'public' AND has_schema_privilege(:role, n.oid, 'CREATE')
  AND pg_has_role(current_user, n.nspowner, 'USAGE')
UNION ALL
-- Large objects lie outside of all tables: no policy, no count and no backup of Stepwell includes them.
SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', CAST(p.oid AS regprocedure))
FROM pg_proc AS p
CROSS JOIN sole_login_role
WHERE p.pronamespace = CAST('pg_catalog' AS regnamespace) AND p.proname ~ '^(lo_.+|loread|lowrite)$'
  AND has_function_privilege(:role, p.oid, 'EXECUTE') AND pg_has_role(current_user, p.proowner, 'USAGE')
UNION ALL
-- By default PUBLIC has these two. The owner of the database or the schema gives them to the roles where it has not.
SELECT format('GRANT CONNECT ON DATABASE %I TO %I', d.datname, s.rolname)
FROM service AS s
JOIN pg_database AS d ON d.datname = current_database()
WHERE NOT has_database_privilege(s.oid, d.oid, 'CONNECT') AND has_database_privilege(d.oid, 'CONNECT WITH GRANT OPTION')
UNION ALL
SELECT format('GRANT USAGE ON SCHEMA %I TO %I', n.nspname, r.rolname)
FROM pg_extension AS e
JOIN pg_namespace AS n ON n.oid = e.extnamespace
JOIN pg_roles AS r ON r.rolname IN (:role, 'stepwell_restricted')
WHERE e.extname = 'vector' AND NOT has_schema_privilege(r.oid, n.oid, 'USAGE')
  AND has_schema_privilege(n.oid, 'USAGE WITH GRANT OPTION')
UNION ALL
-- Which roles are members of one another is not part of a dump. The role must not be inherited: its policies would apply.
SELECT w.statement
FROM service AS s
JOIN pg_roles AS r ON r.rolname = 'stepwell_restricted'
CROSS JOIN (SELECT CAST(current_setting('server_version_num') AS integer) >= 160000 AS optional) AS g
CROSS JOIN LATERAL (
    SELECT format('ALTER ROLE %I NOINHERIT', s.rolname) AS statement WHERE NOT g.optional
    UNION ALL
    SELECT format('GRANT stepwell_restricted TO %I', s.rolname)
           || CASE WHEN g.optional THEN ' WITH INHERIT FALSE, SET TRUE' ELSE '' END
) AS w
WHERE NOT EXISTS (SELECT FROM pg_auth_members AS m WHERE m.roleid = r.oid AND m.member = s.oid)
   OR (pg_has_role(s.oid, r.oid, 'USAGE') AND NOT s.rolsuper)
