"""The lines that were recognised on pictures are kept, encrypted with a key that only the picture yields.

Revision ID: 0031
Revises: 0030
"""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE stepwell.recognised_pictures (
        user_id TEXT NOT NULL,
        picture_key UUID NOT NULL,
        lines BYTEA NOT NULL,
        used_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT pk_recognised_pictures PRIMARY KEY (user_id, picture_key),
        CONSTRAINT ck_recognised_pictures_user_id CHECK (user_id <> '')
    )
    """,
    """
    CREATE INDEX ix_recognised_pictures_user_id_used_at ON stepwell.recognised_pictures (user_id, used_at)
    """,
    "ALTER TABLE stepwell.recognised_pictures ENABLE ROW LEVEL SECURITY",
    """
    CREATE POLICY own_rows ON stepwell.recognised_pictures
    USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    """,
    "GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.recognised_pictures TO stepwell_service",
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
