"""Lets one job a user link texts again: documents by their names_version, and names by when they changed.

Revision ID: 0042
Revises: 0041
"""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

STATEMENTS = (
    "LOCK TABLE stepwell.jobs, stepwell.documents, stepwell.entity_changes IN SHARE ROW EXCLUSIVE MODE",
    # Where no number is known, all chunks may contain the name.
    "ALTER TABLE stepwell.entity_changes ADD COLUMN pending_since BIGINT, "
    "ADD COLUMN chunks_before BIGINT NOT NULL DEFAULT 9223372036854775807",
    "UPDATE stepwell.entity_changes SET pending_since = 0 WHERE pending",
    "ALTER TABLE stepwell.entity_changes ALTER COLUMN chunks_before DROP DEFAULT, "
    "DROP COLUMN pending, DROP COLUMN lowered",
    "ALTER TABLE stepwell.tenants ADD COLUMN names_pause TIMESTAMP WITH TIME ZONE",
    "CREATE INDEX ix_entity_changes_pending ON stepwell.entity_changes (user_id, pending_since, name_key) "
    "WHERE pending_since IS NOT NULL",
)
OF_JOBS = """
SELECT CAST(j.payload ->> 'document_id' AS uuid) FROM stepwell.jobs AS j
WHERE j.kind = 'link_document' AND j.status IN ('queued', 'running')
"""
# The job of a user finds the documents that had a job of their own by their version. An array, because a distributed
# table cannot be joined to the jobs.
LEAVE = sa.text("UPDATE stepwell.documents SET names_version = -1 WHERE document_id = ANY (CAST(:ids AS uuid[]))")


def upgrade() -> None:
    """Replace the columns and the jobs of documents. Jobs of users are queued when the service starts."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in STATEMENTS:
        op.execute(statement)
    ids = [str(document_id) for document_id in op.get_bind().scalars(sa.text(OF_JOBS))]
    op.execute(LEAVE.bindparams(ids=ids))
    op.execute("DELETE FROM stepwell.jobs WHERE kind = 'link_document'")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
