"""Responses to writes with an Idempotency-Key are kept for a day.

Revision ID: 0011
Revises: 0010
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE stepwell.idempotency_keys (
        user_id TEXT NOT NULL,
        key TEXT NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        fingerprint BYTEA,
        status SMALLINT,
        location TEXT,
        body TEXT,
        CONSTRAINT pk_idempotency_keys PRIMARY KEY (user_id, key),
        CONSTRAINT ck_idempotency_keys_user_id CHECK (user_id <> '')
    )
    """,
    "ALTER TABLE stepwell.idempotency_keys ENABLE ROW LEVEL SECURITY",
    """
    CREATE POLICY own_rows ON stepwell.idempotency_keys
    USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    """,
    "GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.idempotency_keys TO stepwell_service",
)


def upgrade() -> None:
    """Add the table with row-level security."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
