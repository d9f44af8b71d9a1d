"""Drops the cache of vectors of deleted texts, and what sites said about the versions of fetched pages.

Revision ID: 0049
Revises: 0045
"""

from alembic import op

revision = "0049"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop a table that no other one refers to, and a column, for which no row is rewritten."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("DROP TABLE stepwell.embedding_cache")
    op.execute("ALTER TABLE stepwell.documents DROP COLUMN fetched")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
