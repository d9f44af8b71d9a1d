"""Sources have options, and it is stored which document comes from which file of which source.

Revision ID: 0013
Revises: 0012
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

COLUMNS = (
    """
    ALTER TABLE stepwell.sources
    ADD COLUMN text_field TEXT,
    ADD COLUMN watch BOOLEAN DEFAULT false NOT NULL,
    ADD COLUMN confined BOOLEAN DEFAULT true NOT NULL,
    ADD COLUMN job_id UUID,
    ADD COLUMN result JSONB DEFAULT '{}' NOT NULL
    """,
    "ALTER TABLE stepwell.documents ADD COLUMN source_path TEXT",
    "ALTER TABLE stepwell.staged_documents ADD COLUMN source_id UUID, ADD COLUMN source_path TEXT",
    "DROP INDEX stepwell.ix_documents_user_id_source_id",
    """
    CREATE INDEX ix_documents_user_id_source_id_source_path
    ON stepwell.documents (user_id, source_id, source_path)
    """,
)

# `size`, `mtime_ns` and `content_hash` are of the stored version; null: none is stored, or it is to be read again.
FILES = (
    """
    CREATE TABLE stepwell.source_files (
        user_id TEXT NOT NULL,
        source_id UUID NOT NULL,
        path TEXT COLLATE "C" NOT NULL,
        size BIGINT,
        mtime_ns BIGINT,
        content_hash BYTEA,
        documents INTEGER DEFAULT 0 NOT NULL,
        error TEXT,
        job_id UUID NOT NULL,
        CONSTRAINT pk_source_files PRIMARY KEY (user_id, source_id, path),
        CONSTRAINT ck_source_files_user_id CHECK (user_id <> ''),
        CONSTRAINT fk_source_files_sources FOREIGN KEY (user_id, source_id)
        REFERENCES stepwell.sources (user_id, source_id) ON DELETE CASCADE
    )
    """,
    "ALTER TABLE stepwell.source_files ENABLE ROW LEVEL SECURITY",
    """
    CREATE POLICY own_rows ON stepwell.source_files
    USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    """,
    "GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.source_files TO stepwell_service",
)

# The service watches the folders of all users, and reads them by this function only.
WATCHED = (
    """
    CREATE FUNCTION stepwell.watched_sources()
    RETURNS TABLE (user_id text, source_id uuid, path text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'SELECT s.user_id, s.source_id, s.path FROM stepwell.sources AS s WHERE s.watch'
    """,
    "REVOKE ALL ON FUNCTION stepwell.watched_sources() FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION stepwell.watched_sources() TO stepwell_service",
)


def upgrade() -> None:
    """Add the columns, the table with row-level security, and the function."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in (*COLUMNS, *FILES, *WATCHED):
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
