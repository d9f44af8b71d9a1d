"""How documents were cut into chunks: as Markdown or plain text, and with which size and overlap.

Stored documents count as cut with the default options; plain text came from text files only.

Revision ID: 0007
Revises: 0006
"""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    ALTER TABLE stepwell.documents
    ADD COLUMN markdown BOOLEAN DEFAULT true NOT NULL,
    ADD COLUMN chunk_tokens SMALLINT DEFAULT 160 NOT NULL,
    ADD COLUMN chunk_overlap SMALLINT DEFAULT 24 NOT NULL
    """,
    r"UPDATE stepwell.documents SET markdown = false WHERE uri ~* '\.te?xt$'",
)


def upgrade() -> None:
    """Add the columns."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
