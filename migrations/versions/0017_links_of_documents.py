"""The mentions of an entity are found by document, so that a search reads only those of its candidates.

Revision ID: 0017
Revises: 0016
"""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the index."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    op.execute(
        """
        CREATE INDEX ix_mentions_user_id_entity_id_kind_document_id
        ON stepwell.mentions (user_id, entity_id, kind, document_id) INCLUDE (count)
        """
    )


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
