-- Reports properties of the server, the connected role and the database.
-- Columns: version_num, version, encoding, ascii_case (whether lower() changes ASCII letters only), vector, role,
-- superuser, bypasses, owns, migrated, may_use, bytes, tls.
SELECT CAST(current_setting('server_version_num') AS integer) AS version_num,
       current_setting('server_version') AS version,
       current_setting('server_encoding') AS encoding,
       -- In another encoding the letter is A: not every one has Ä.
       (SELECT lower(l.letter) = l.letter
        FROM (SELECT chr(CASE current_setting('server_encoding') WHEN 'UTF8' THEN 196 ELSE 65 END) AS letter) AS l
       ) AS ascii_case,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
       CAST(current_user AS text) AS role, r.rolsuper AS superuser, r.rolbypassrls AS bypasses,
       EXISTS (
           SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
           WHERE n.nspname = 'stepwell' AND c.relkind IN ('r', 'p') AND pg_has_role(current_user, c.relowner, 'USAGE')
       ) AS owns,
       EXISTS (
           SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
           WHERE n.nspname = 'stepwell' AND c.relname = 'alembic_version'
       ) AS migrated,
       coalesce((SELECT has_schema_privilege(n.oid, 'USAGE') FROM pg_namespace AS n WHERE n.nspname = 'stepwell'), false)
           AS may_use,
       pg_database_size(current_database()) AS bytes,
       (SELECT s.version FROM pg_stat_ssl AS s WHERE s.pid = pg_backend_pid() AND s.ssl) AS tls
FROM pg_roles AS r
WHERE r.rolname = current_user
