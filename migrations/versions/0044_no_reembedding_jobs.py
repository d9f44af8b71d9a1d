"""Deletes the jobs that computed the vectors of another model, which `stepwell reembed` computes itself.

Revision ID: 0044
Revises: 0043
"""

from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Delete the jobs of a kind that no process runs."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("DELETE FROM stepwell.jobs WHERE kind = 'reembed'")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
