"""The vectors of another model are stored beside those in use, and transactions name the table that they read.

Revision ID: 0014
Revises: 0013
"""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

STATEMENTS = (
    # The keys of chunks' vectors contain the name of the model that was in use when the database was created.
    "ALTER TABLE stepwell.embedding_identity ADD COLUMN keyed_by TEXT",
    "UPDATE stepwell.embedding_identity SET keyed_by = model",
    """
    CREATE TABLE stepwell.embedding_target (
        model TEXT NOT NULL,
        dimension INTEGER NOT NULL,
        started_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        active SMALLINT DEFAULT '1' NOT NULL,
        CONSTRAINT pk_embedding_target PRIMARY KEY (active),
        CONSTRAINT ck_embedding_target_one_row CHECK (active = 1)
    )
    """,
    "GRANT SELECT ON stepwell.embedding_target TO stepwell_service",
)

# The lock lasts until the transaction ends, so the table is not replaced by that of another model in between. Names are
# resolved by the catalogue as it is now, not as it was when the transaction's snapshot was taken.
VECTOR_TABLES = """
CREATE FUNCTION stepwell.vector_tables(p_writes boolean) RETURNS bigint[]
LANGUAGE plpgsql AS $$
BEGIN
    IF p_writes THEN
        LOCK TABLE stepwell.embeddings IN ROW EXCLUSIVE MODE;
    ELSE
        LOCK TABLE stepwell.embeddings IN ACCESS SHARE MODE;
    END IF;
    RETURN ARRAY[
        CAST(CAST(to_regclass('stepwell.embeddings') AS oid) AS bigint),
        coalesce(CAST(CAST(to_regclass('stepwell.embeddings_next') AS oid) AS bigint), 0)
    ];
END
$$
"""

PRIVILEGES = (
    "REVOKE EXECUTE ON FUNCTION stepwell.vector_tables(boolean) FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION stepwell.vector_tables(boolean) TO stepwell_service",
)


def upgrade() -> None:
    """Add the target of a re-embedding and the function, and record whose name is part of the keys."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in (*STATEMENTS, VECTOR_TABLES, *PRIVILEGES):
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
