"""Jobs of a user can be listed, and a failed attempt is told apart from one whose worker was lost.

Revision ID: 0008
Revises: 0007
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    ALTER TABLE stepwell.jobs
    ADD COLUMN failures SMALLINT DEFAULT 0 NOT NULL,
    ADD COLUMN result JSONB DEFAULT '{}' NOT NULL
    """,
    "CREATE INDEX ix_jobs_user_id_created_at_job_id ON stepwell.jobs (user_id, created_at, job_id)",
)


def upgrade() -> None:
    """Add the columns and the index."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
