"""Headings: what the sections are called in which chunks stand.

Revision ID: 0004
Revises: 0003
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLE = (
    """
    CREATE TABLE stepwell.headings (
        user_id TEXT NOT NULL,
        entity_id UUID NOT NULL,
        section_no BIGINT NOT NULL,
        chunk_no BIGINT NOT NULL,
        document_id UUID NOT NULL,
        CONSTRAINT pk_headings PRIMARY KEY (user_id, entity_id, section_no, chunk_no),
        CONSTRAINT ck_headings_user_id CHECK (user_id <> ''),
        CONSTRAINT fk_headings_entities FOREIGN KEY(user_id, entity_id)
            REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE,
        CONSTRAINT fk_headings_chunks FOREIGN KEY(user_id, chunk_no)
            REFERENCES stepwell.chunks (user_id, chunk_no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_headings_user_id_chunk_no ON stepwell.headings (user_id, chunk_no)",
    "CREATE INDEX ix_headings_user_id_document_id ON stepwell.headings (user_id, document_id)",
    "ALTER TABLE stepwell.headings ENABLE ROW LEVEL SECURITY",
    """
    CREATE POLICY own_rows ON stepwell.headings
    USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    """,
    "GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.headings TO stepwell_service",
)


def upgrade() -> None:
    """Add the table; it is filled by reading the names of what is stored again."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in TABLE:
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
