-- Reports whether the connected role owns the tables of the schema or is a superuser.
-- Columns: owns.
SELECT EXISTS (
    SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'stepwell' AND c.relname = 'chunks' AND pg_has_role(current_user, c.relowner, 'USAGE')
) OR (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = current_user) AS owns
