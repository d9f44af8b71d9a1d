-- The role of the service, that of its restricted callers, and what only a superuser may set.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'stepwell_service') THEN
        CREATE ROLE stepwell_service LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'stepwell_restricted') THEN
        CREATE ROLE stepwell_restricted NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
END
$$;

-- The policies of a role apply to roles that inherit it. Before Postgres 16 that is an attribute of the member.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_auth_members AS m
        WHERE m.roleid = 'stepwell_restricted'::regrole AND m.member = 'stepwell_service'::regrole
    ) THEN
        RETURN;
    END IF;
    IF current_setting('server_version_num')::integer >= 160000 THEN
        EXECUTE 'GRANT stepwell_restricted TO stepwell_service WITH INHERIT FALSE, SET TRUE';
    ELSE
        ALTER ROLE stepwell_service NOINHERIT;
        GRANT stepwell_restricted TO stepwell_service;
    END IF;
END
$$;

-- `@@` and `@>` lose their GIN index under row-level security unless they are leakproof.
DO $$
BEGIN
    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF;
        ALTER FUNCTION pg_catalog.jsonb_contains(jsonb, jsonb) LEAKPROOF;
    END IF;
END
$$;
