"""Vectors of passages are kept for texts that are stored again.

Revision ID: 0012
Revises: 0011
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE stepwell.embedding_cache (
        user_id TEXT NOT NULL,
        model TEXT NOT NULL,
        dimension INTEGER NOT NULL,
        task TEXT NOT NULL,
        text_hash UUID NOT NULL,
        embedding vector NOT NULL,
        hits BIGINT DEFAULT 0 NOT NULL,
        used_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT pk_embedding_cache PRIMARY KEY (user_id, model, dimension, task, text_hash),
        CONSTRAINT ck_embedding_cache_user_id CHECK (user_id <> '')
    )
    """,
    """
    CREATE INDEX ix_embedding_cache_user_id_used_at
    ON stepwell.embedding_cache (user_id, used_at) INCLUDE (hits)
    """,
    "ALTER TABLE stepwell.embedding_cache ENABLE ROW LEVEL SECURITY",
    """
    CREATE POLICY own_rows ON stepwell.embedding_cache
    USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    """,
    "GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.embedding_cache TO stepwell_service",
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
