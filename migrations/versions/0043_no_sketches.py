"""Drops the sketches of texts, by which near duplicates were found.

Revision ID: 0043
Revises: 0042
"""

from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop a column of two tables, for which no row is rewritten."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    for table in ("documents", "staged_documents"):
        op.execute(f"ALTER TABLE stepwell.{table} DROP COLUMN sketch")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
