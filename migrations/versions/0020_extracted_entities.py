"""A document keeps the entities that a language model has named in its text.

Revision ID: 0020
Revises: 0019
"""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, which no existing row is rewritten for."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    op.execute("ALTER TABLE stepwell.documents ADD COLUMN extracted jsonb NOT NULL DEFAULT '[]'")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
