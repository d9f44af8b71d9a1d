"""Names: by which rules a document was read, so that what is stored is read again when they change.

Revision ID: 0002
Revises: 0001
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Every document stored so far counts as unread."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    op.execute("ALTER TABLE stepwell.documents ADD COLUMN names_version INTEGER DEFAULT '0' NOT NULL")
    op.execute("CREATE INDEX ix_documents_names_version ON stepwell.documents (names_version)")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
