"""Drops the cache of vectors of texts that a user stores again.

Revision ID: 0049
Revises: 0045
"""

from alembic import op

revision = "0049"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop a table that no other one refers to."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("DROP TABLE stepwell.embedding_cache")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
