"""Entities: names in order, the words of facts, vectors of descriptions, and which names are still to be linked;
and transactions whose statements are planned once.

Revision ID: 0003
Revises: 0002
"""

from alembic import context, op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES = (
    """
    CREATE TABLE stepwell.entity_words (
        user_id TEXT NOT NULL,
        lexeme TEXT COLLATE "C" NOT NULL,
        entity_id UUID NOT NULL,
        CONSTRAINT pk_entity_words PRIMARY KEY (user_id, lexeme, entity_id),
        CONSTRAINT ck_entity_words_user_id CHECK (user_id <> ''),
        CONSTRAINT fk_entity_words_entities FOREIGN KEY(user_id, entity_id)
            REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_entity_words_user_id_entity_id ON stepwell.entity_words (user_id, entity_id)",
    """
    CREATE TABLE stepwell.entity_vectors (
        user_id TEXT NOT NULL,
        entity_id UUID NOT NULL,
        embedding vector({dimension}) NOT NULL,
        CONSTRAINT pk_entity_vectors PRIMARY KEY (user_id, entity_id),
        CONSTRAINT ck_entity_vectors_user_id CHECK (user_id <> ''),
        CONSTRAINT fk_entity_vectors_entities FOREIGN KEY(user_id, entity_id)
            REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_entity_vectors_embedding
    ON stepwell.entity_vectors USING hnsw (embedding vector_cosine_ops) WITH (m = 16, ef_construction = 200)
    """,
    """
    CREATE TABLE stepwell.entity_changes (
        user_id TEXT NOT NULL,
        name_key BYTEA NOT NULL,
        name TEXT NOT NULL,
        version BIGINT NOT NULL,
        pending BOOLEAN DEFAULT 'true' NOT NULL,
        lowered BOOLEAN DEFAULT 'false' NOT NULL,
        CONSTRAINT pk_entity_changes PRIMARY KEY (user_id, name_key),
        CONSTRAINT ck_entity_changes_user_id CHECK (user_id <> '')
    )
    """,
    "CREATE INDEX ix_entity_changes_user_id_version ON stepwell.entity_changes (user_id, version)",
)

NEW = ("entity_words", "entity_vectors", "entity_changes")

CHANGES = (
    "ALTER TABLE stepwell.tenants ADD COLUMN names_version BIGINT DEFAULT '0' NOT NULL",
    "ALTER TABLE stepwell.entity_names ADD COLUMN place SMALLINT DEFAULT '0' NOT NULL",
    """
    CREATE INDEX ix_entities_user_id_name_entity_id
    ON stepwell.entities (user_id, name, entity_id) WHERE origin <> 'text'
    """,
    "ALTER TABLE stepwell.entity_vectors ALTER COLUMN embedding SET STORAGE MAIN",
)

STRENGTH = """
CREATE FUNCTION stepwell.link_strength(kind text, count bigint) RETURNS float8
LANGUAGE sql IMMUTABLE
RETURN CASE kind WHEN 'title' THEN 4 WHEN 'attendee' THEN 3 WHEN 'metadata' THEN 2
       ELSE ln(1 + CAST(count AS float8)) END
"""

# For statements whose gates are decided as they run: planned once a connection, so that the settings must leave no
# choice that depends on how many rows a user has. Tells how often the user's data, and names of entities, have changed.
ENTER_PLAIN = """
CREATE FUNCTION stepwell.enter_plain(p_user text, p_timeout_ms integer, p_candidates integer) RETURNS bigint[]
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stepwell.enter(p_user, p_timeout_ms, p_candidates);
    SET LOCAL plan_cache_mode = 'force_generic_plan';
    SET LOCAL enable_sort = off;
    SET LOCAL enable_seqscan = off;
    RETURN coalesce(
        (SELECT ARRAY[t.version, t.names_version] FROM stepwell.tenants AS t WHERE t.user_id = p_user), '{0,0}');
END
$$
"""

# Back from there, for a statement that is planned anew each time.
PLAN_EACH = """
CREATE FUNCTION stepwell.plan_each() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL plan_cache_mode = 'force_custom_plan';
    SET LOCAL enable_sort = on;
    SET LOCAL enable_seqscan = on;
END
$$
"""

POLICY = """
CREATE POLICY own_rows ON stepwell.{table}
USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
"""


def upgrade() -> None:
    """Add what entities need, typed by the embedding model of the settings."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    dimension = int(context.config.attributes["dimension"])
    for statement in (*TABLES, *CHANGES, STRENGTH, ENTER_PLAIN, PLAN_EACH):
        op.execute(statement.replace("{dimension}", str(dimension)))
    for table in NEW:
        op.execute(f"ALTER TABLE stepwell.{table} ENABLE ROW LEVEL SECURITY")
        op.execute(POLICY.format(table=table))
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.{table} TO stepwell_service")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
