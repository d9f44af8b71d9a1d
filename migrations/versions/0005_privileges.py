"""Privileges: API keys are verified by a function and managed by the owner; an audit log; counts of key use.

Revision ID: 0005
Revises: 0004
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLES = (
    """
    CREATE TABLE stepwell.audit_log (
        user_id TEXT NOT NULL,
        event_id UUID NOT NULL,
        at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        target TEXT NOT NULL,
        counts JSONB DEFAULT '{}' NOT NULL,
        CONSTRAINT pk_audit_log PRIMARY KEY (user_id, event_id),
        CONSTRAINT ck_audit_log_user_id CHECK (user_id <> '')
    )
    """,
    "CREATE INDEX ix_audit_log_user_id_at ON stepwell.audit_log (user_id, at)",
    "ALTER TABLE stepwell.audit_log ENABLE ROW LEVEL SECURITY",
    """
    CREATE POLICY own_rows ON stepwell.audit_log
    USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    """,
    """
    CREATE TABLE stepwell.key_uses (
        key_id TEXT NOT NULL,
        day DATE NOT NULL,
        scope TEXT NOT NULL,
        user_id TEXT NOT NULL,
        uses BIGINT NOT NULL,
        last_used_at TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT pk_key_uses PRIMARY KEY (key_id, day, scope),
        CONSTRAINT ck_key_uses_user_id CHECK (user_id <> '')
    )
    """,
)

# Returns a row only for the right secret, so that no hash leaves the database. An ordinary comparison is enough: what
# is compared is the SHA-256 of a secret of 256 random bits, and how long it takes says nothing about such a secret.
VERIFY_KEY = """
CREATE FUNCTION stepwell.verify_key(p_key_id text, p_secret_hash bytea)
RETURNS TABLE (user_id text, scopes text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
SELECT k.user_id, k.scopes
FROM stepwell.api_keys AS k
WHERE k.key_id = p_key_id AND k.secret_hash = p_secret_hash
  AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
$$
"""

# Day and time are the database's own, and only existing keys are counted, so that a caller adds at most a row for each
# key, scope and day. Rows are locked in one order, because several processes flush at once.
COUNT_KEY_USES = """
CREATE FUNCTION stepwell.count_key_uses(p_key_ids text[], p_scopes text[], p_uses bigint[])
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
INSERT INTO stepwell.key_uses AS u (key_id, day, scope, user_id, uses, last_used_at)
SELECT k.key_id, CAST(now() AT TIME ZONE 'UTC' AS date), g.scope, k.user_id, g.uses, now()
FROM unnest(p_key_ids, p_scopes, p_uses) AS g (key_id, scope, uses)
JOIN stepwell.api_keys AS k ON k.key_id = g.key_id
WHERE g.scope IN ('search', 'write', 'metrics', 'admin') AND g.uses > 0
ORDER BY k.key_id, g.scope
ON CONFLICT (key_id, day, scope) DO UPDATE
SET uses = u.uses + excluded.uses, last_used_at = greatest(u.last_used_at, excluded.last_used_at)
$$
"""

PRIVILEGES = (
    "REVOKE ALL ON stepwell.api_keys FROM stepwell_service",
    "GRANT INSERT (user_id, event_id, actor, action, target, counts) ON stepwell.audit_log TO stepwell_service",
    "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA stepwell FROM PUBLIC",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA stepwell TO stepwell_service",
)


def upgrade() -> None:
    """Add the tables and functions, and take from the service's role what the functions replace."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in (*TABLES, VERIFY_KEY, COUNT_KEY_USES, *PRIVILEGES):
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
