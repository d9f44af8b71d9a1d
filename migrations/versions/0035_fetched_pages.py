"""Documents keep what a site said about the version of the page that they were fetched from.

Revision ID: 0035
Revises: 0033
"""

from alembic import op

revision = "0035"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, which is null in every row."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE stepwell.documents ADD COLUMN fetched JSONB")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
