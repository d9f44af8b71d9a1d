"""Where the pages of a document begin in its text, and the version of the rules by which the text was cleaned.

Revision ID: 0010
Revises: 0009
"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

COLUMNS = """
ALTER TABLE stepwell.{table}
ADD COLUMN page_starts INTEGER[] DEFAULT '{{}}' NOT NULL,
ADD COLUMN cleaning_version SMALLINT DEFAULT 1 NOT NULL
"""


def upgrade() -> None:
    """Add the columns. Stored texts were cleaned by the first version of the rules, and have no pages."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for table in ("documents", "staged_documents"):
        op.execute(COLUMNS.format(table=table))


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
