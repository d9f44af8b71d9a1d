"""Tables with several indexes by user are analyzed after 2,000 changed rows, however large they are.

The planner takes a user that its statistics do not know for one without rows. Every index by user then looks equally
good to it, and a look-up by key may read all of the user's rows. By default a table is analyzed when a tenth of it has
changed, which a new user of a large database does not reach for long.

Revision ID: 0018
Revises: 0017
"""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

TABLES = ("documents", "chunks", "entities", "entity_names", "entity_words", "mentions", "headings")


def upgrade() -> None:
    """Set the storage parameters of the tables."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for table in TABLES:
        op.execute(
            f"ALTER TABLE stepwell.{table} "
            "SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000)"
        )


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
