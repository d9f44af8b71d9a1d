"""A key may see a part of its user's documents, and verify tokens that were signed with its secret.

A transaction for such a key takes the role `stepwell_restricted`, whose policies show a row only if its document passes
the JSON path in `stepwell.visible`. The service's role does not inherit that role, so that its own plans stay the same.

Revision ID: 0030
Revises: 0029
"""

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

# `filters` null: the key sees all documents. `token_key` is the public half of the pair with which tokens are signed;
# null for keys that were created before there was one.
COLUMNS = (
    """
    ALTER TABLE stepwell.api_keys
    ADD COLUMN filters JSONB,
    ADD COLUMN shows_entities BOOLEAN DEFAULT false NOT NULL,
    ADD COLUMN token_key BYTEA
    """,
    "ALTER TABLE stepwell.jobs ADD COLUMN audience TEXT",
)

# A process of an earlier version asks `verify_key`, which does not know a key with filters: it would see everything.
FUNCTIONS = (
    """
    CREATE OR REPLACE FUNCTION stepwell.verify_key(p_key_id text, p_secret_hash bytea)
    RETURNS TABLE (user_id text, scopes text[])
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
    SELECT k.user_id, k.scopes
    FROM stepwell.api_keys AS k
    WHERE k.key_id = p_key_id AND k.secret_hash = p_secret_hash AND k.filters IS NULL
      AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    $$
    """,
    """
    CREATE FUNCTION stepwell.live_key(p_key_id text, p_secret_hash bytea)
    RETURNS TABLE (user_id text, scopes text[], filters jsonb, shows_entities boolean, token_key bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
    SELECT k.user_id, k.scopes, k.filters, k.shows_entities, k.token_key
    FROM stepwell.api_keys AS k
    WHERE k.key_id = p_key_id AND k.secret_hash = p_secret_hash
      AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    $$
    """,
    """
    CREATE FUNCTION stepwell.token_key(p_key_id text)
    RETURNS TABLE (user_id text, scopes text[], filters jsonb, shows_entities boolean, token_key bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
    SELECT k.user_id, k.scopes, k.filters, k.shows_entities, k.token_key
    FROM stepwell.api_keys AS k
    WHERE k.key_id = p_key_id AND k.token_key IS NOT NULL
      AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    $$
    """,
    # The last expression of the first statement of a transaction: what follows runs in the other role.
    """
    CREATE FUNCTION stepwell.enter_restricted(p_path text, p_needs_document boolean, p_shows_entities boolean)
    RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM set_config('stepwell.visible', p_path, true);
        PERFORM set_config('stepwell.visible_needs_document', CAST(p_needs_document AS text), true);
        PERFORM set_config('stepwell.shows_entities', CAST(p_shows_entities AS text), true);
        PERFORM set_config('role', 'stepwell_restricted', true);
    END
    $$
    """,
    # Runs as the owner, because the mentions in documents that the caller does not see count.
    """
    CREATE FUNCTION stepwell.is_unlinked(p_user text, p_entity uuid) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
    SELECT NOT EXISTS (
        SELECT FROM stepwell.mentions AS m WHERE m.user_id = p_user AND m.entity_id = p_entity
    ) AND NOT EXISTS (
        SELECT FROM stepwell.headings AS h WHERE h.user_id = p_user AND h.entity_id = p_entity
    )
    $$
    """,
    "REVOKE ALL ON FUNCTION stepwell.live_key(text, bytea) FROM PUBLIC",
    "REVOKE ALL ON FUNCTION stepwell.token_key(text) FROM PUBLIC",
    "REVOKE ALL ON FUNCTION stepwell.enter_restricted(text, boolean, boolean) FROM PUBLIC",
    "REVOKE ALL ON FUNCTION stepwell.is_unlinked(text, uuid) FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION stepwell.live_key(text, bytea) TO stepwell_service",
    "GRANT EXECUTE ON FUNCTION stepwell.token_key(text) TO stepwell_service",
    "GRANT EXECUTE ON FUNCTION stepwell.enter_restricted(text, boolean, boolean) TO stepwell_service",
)

ROLE = """
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'stepwell_restricted') THEN
        CREATE ROLE stepwell_restricted NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE EXCEPTION 'This role may not create roles: run as a superuser CREATE ROLE stepwell_restricted NOLOGIN; '
        'GRANT stepwell_restricted TO stepwell_service WITH INHERIT FALSE, SET TRUE;';
END
$$
"""

# The policies of a role apply to roles that inherit it. Before Postgres 16 that is an attribute of the member.
MEMBER = """
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
$$
"""

PATH = "(SELECT CAST(NULLIF(current_setting('stepwell.visible', true), '') AS jsonpath))"
NEEDS_DOCUMENT = "(SELECT current_setting('stepwell.visible_needs_document', true) = 'true')"
SHOWS_ENTITIES = "(SELECT current_setting('stepwell.shows_entities', true) = 'true')"
# A look-up by key, never a scan of all documents: a scalar subquery, because EXISTS may be hashed.
OF_DOCUMENT = """(SELECT true FROM stepwell.documents AS d
    WHERE d.user_id = {table}.user_id AND d.document_id = {table}.document_id LIMIT 1)"""
OF_ENTITY = """(SELECT true FROM stepwell.entities AS e
    WHERE e.user_id = {table}.user_id AND e.entity_id = {table}.entity_id LIMIT 1)"""
POLICIES = {
    "documents": f"""jsonb_path_exists(metadata, {PATH}, CASE WHEN {NEEDS_DOCUMENT}
        THEN moments || jsonb_build_object('document', document_id, 'source', source_id, 'uri', uri,
                                           'created', extract(epoch FROM created_at) * 1000000)
        ELSE '{{}}' END, true)""",
    "chunks": OF_DOCUMENT,
    "embeddings": OF_DOCUMENT,
    "mentions": OF_DOCUMENT,
    "headings": OF_DOCUMENT,
    "entities": """((SELECT true FROM stepwell.mentions AS m
        WHERE m.user_id = {table}.user_id AND m.entity_id = {table}.entity_id LIMIT 1)
        OR (SELECT true FROM stepwell.headings AS h
            WHERE h.user_id = {table}.user_id AND h.entity_id = {table}.entity_id LIMIT 1)
        OR origin = 'user' AND stepwell.is_unlinked(user_id, entity_id))""",
    "entity_names": OF_ENTITY,
    "entity_members": OF_ENTITY
    + " AND "
    + OF_ENTITY.replace("e.entity_id = {table}.entity_id", "e.entity_id = {table}.member_id"),
    "entity_words": f"{SHOWS_ENTITIES} AND {OF_ENTITY}",
    "entity_vectors": f"{SHOWS_ENTITIES} AND {OF_ENTITY}",
    "sources": """(SELECT true FROM stepwell.documents AS d
        WHERE d.user_id = {table}.user_id AND d.source_id = {table}.source_id LIMIT 1)""",
    "source_files": """(SELECT true FROM stepwell.documents AS d
        WHERE d.user_id = {table}.user_id AND d.source_id = {table}.source_id AND d.source_path = {table}.path
        LIMIT 1)""",
}
"""What the role sees of the tables with a row for each document, chunk, entity or source."""

# Rows that mix documents: statements that read them join the chunks (tests/store/test_restricted_statements.py).
UNPROTECTED = (
    "tenants",
    "lexemes",
    "postings",
    "text_statistics",
    "hidden_chunks",
    "embedding_identity",
    "embedding_target",
    "jobs",
)


def upgrade() -> None:
    """Add the columns, the functions, the role and its policies; a Citus cluster has no keys with filters."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in (*COLUMNS, *FUNCTIONS, ROLE, MEMBER):
        op.execute(statement)
    if op.get_bind().exec_driver_sql("SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL").scalar():
        return
    op.execute("GRANT USAGE ON SCHEMA stepwell TO stepwell_restricted")
    for table, condition in POLICIES.items():
        shown = condition.format(table=table) if table != "documents" else condition
        op.execute(f"CREATE POLICY visible ON stepwell.{table} AS RESTRICTIVE TO stepwell_restricted USING ({shown})")
    for table in (*POLICIES, *UNPROTECTED):
        op.execute(f"GRANT SELECT ON stepwell.{table} TO stepwell_restricted")
    for function in (
        "is_unlinked(text, uuid)",
        "link_strength(text, bigint)",
        "microseconds(text)",
        "moments(jsonb)",
        "plan_each()",
        "with_characters(tsvector)",
    ):
        op.execute(f"GRANT EXECUTE ON FUNCTION stepwell.{function} TO stepwell_restricted")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
