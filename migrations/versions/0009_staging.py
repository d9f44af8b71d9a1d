"""Large documents are prepared in tables of their own, and postings of chunks that are not visible are skipped.

Revision ID: 0009
Revises: 0008
"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TABLES = (
    """
    CREATE TABLE stepwell.staged_documents (
        user_id TEXT NOT NULL,
        job_id UUID NOT NULL,
        document_id UUID NOT NULL,
        identity BYTEA NOT NULL,
        uri TEXT,
        title TEXT NOT NULL,
        config TEXT NOT NULL,
        metadata JSONB DEFAULT '{}' NOT NULL,
        content TEXT NOT NULL,
        content_hash BYTEA NOT NULL,
        attributes_hash BYTEA NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE,
        markdown BOOLEAN NOT NULL,
        chunk_tokens SMALLINT NOT NULL,
        chunk_overlap SMALLINT NOT NULL,
        CONSTRAINT pk_staged_documents PRIMARY KEY (user_id, job_id),
        CONSTRAINT ck_staged_documents_user_id CHECK (user_id <> '')
    )
    """,
    """
    CREATE TABLE stepwell.staged_chunks (
        user_id TEXT NOT NULL,
        job_id UUID NOT NULL,
        chunk_index INTEGER NOT NULL,
        chunk_id UUID NOT NULL,
        chunk_no BIGINT,
        content TEXT NOT NULL,
        start_offset INTEGER NOT NULL,
        end_offset INTEGER NOT NULL,
        heading_path TEXT[] NOT NULL,
        tsv TSVECTOR NOT NULL,
        length INTEGER NOT NULL,
        embedding_key UUID NOT NULL,
        embedding REAL[],
        CONSTRAINT pk_staged_chunks PRIMARY KEY (user_id, job_id, chunk_index),
        CONSTRAINT ck_staged_chunks_user_id CHECK (user_id <> '')
    )
    """,
    """
    CREATE TABLE stepwell.hidden_chunks (
        user_id TEXT NOT NULL,
        first_no BIGINT NOT NULL,
        last_no BIGINT NOT NULL,
        config TEXT NOT NULL,
        tokens BIGINT NOT NULL,
        job_id UUID,
        CONSTRAINT pk_hidden_chunks PRIMARY KEY (user_id, first_no),
        CONSTRAINT ck_hidden_chunks_user_id CHECK (user_id <> '')
    )
    """,
)

PROTECTION = (
    "ALTER TABLE stepwell.{table} ENABLE ROW LEVEL SECURITY",
    """
    CREATE POLICY own_rows ON stepwell.{table}
    USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    """,
    "GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.{table} TO stepwell_service",
)

# Deferred by the transaction that replaces a document, which stores the new chunks before it deletes the old ones.
DEFERRABLE = (
    "ALTER TABLE stepwell.chunks DROP CONSTRAINT uq_chunks_user_id_document_id_chunk_index",
    """
    ALTER TABLE stepwell.chunks ADD CONSTRAINT uq_chunks_user_id_document_id_chunk_index
    UNIQUE (user_id, document_id, chunk_index) DEFERRABLE INITIALLY IMMEDIATE
    """,
)

# Returns whether the user has hidden chunks as a third number.
ENTER_PLAIN = """
CREATE OR REPLACE FUNCTION stepwell.enter_plain(p_user text, p_timeout_ms integer, p_candidates integer)
RETURNS bigint[]
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stepwell.enter(p_user, p_timeout_ms, p_candidates);
    SET LOCAL plan_cache_mode = 'force_generic_plan';
    SET LOCAL enable_sort = off;
    SET LOCAL enable_seqscan = off;
    RETURN coalesce(
        (SELECT ARRAY[t.version, t.names_version, CASE WHEN EXISTS (
             SELECT FROM stepwell.hidden_chunks AS h WHERE h.user_id = p_user) THEN 1 ELSE 0 END]
         FROM stepwell.tenants AS t WHERE t.user_id = p_user), '{0,0,0}');
END
$$
"""


def upgrade() -> None:
    """Add the tables with row-level security, and change the constraint and the function."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in TABLES:
        op.execute(statement)
    for table in ("staged_documents", "staged_chunks", "hidden_chunks"):
        for statement in PROTECTION:
            op.execute(statement.format(table=table))
    for statement in DEFERRABLE:
        op.execute(statement)
    op.execute(ENTER_PLAIN)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
