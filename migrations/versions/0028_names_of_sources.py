"""Sources have names, unique for each user.

A source that was added before has none until it is changed: the name of its folder stands for it.

Revision ID: 0028
Revises: 0027
"""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and its constraint; the table is small."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE stepwell.sources ADD COLUMN name TEXT")
    op.execute("ALTER TABLE stepwell.sources ADD CONSTRAINT uq_sources_user_id_name UNIQUE (user_id, name)")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
