-- Reports why row-level security would not apply to the connected role.
-- Columns: superuser, bypasses, owns.
SELECT r.rolsuper AS superuser, r.rolbypassrls AS bypasses,
       pg_has_role(current_user, c.relowner, 'USAGE') AS owns
FROM pg_roles AS r
CROSS JOIN pg_class AS c
WHERE r.rolname = current_user AND c.oid = CAST('stepwell.chunks' AS regclass)
