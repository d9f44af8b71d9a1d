"""Keeps a sketch of the text of each document, by which near duplicates are found.

Documents that are stored already have none until they change or `stepwell reindex --all` is run.

Revision ID: 0037
Revises: 0036
"""

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column without a default, for which no row is rewritten."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    for table in ("documents", "staged_documents"):
        op.execute(f"ALTER TABLE stepwell.{table} ADD COLUMN sketch BYTEA")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
