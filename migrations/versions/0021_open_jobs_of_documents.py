"""Jobs are found by user, kind, status and document, however many a user has.

A job for each of many documents may wait for long, if a language model is asked for their entities. Without the index
each batch of documents, and each job that ends, reads all of them.

Revision ID: 0021
Revises: 0020
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the index in the transaction of the migration; the table is small."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("CREATE INDEX ix_jobs_of_document ON stepwell.jobs (user_id, kind, status, (payload ->> 'document_id'))")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
