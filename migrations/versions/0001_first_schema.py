"""The first schema: documents, chunks, vectors, text statistics, keys, and the tables that later features fill.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import context, op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

MAX_HNSW_DIMENSIONS = 2000

TABLES = (
    """
    CREATE TABLE stepwell.api_keys (
        key_id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        secret_hash BYTEA NOT NULL,
        scopes TEXT[] NOT NULL,
        name TEXT DEFAULT '' NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        expires_at TIMESTAMP WITH TIME ZONE,
        revoked_at TIMESTAMP WITH TIME ZONE,
        CONSTRAINT pk_api_keys PRIMARY KEY (key_id),
        CONSTRAINT ck_api_keys_user_id CHECK (user_id <> '')
    )
    """,
    """
    CREATE TABLE stepwell.embedding_identity (
        model TEXT NOT NULL,
        dimension INTEGER NOT NULL,
        active SMALLINT DEFAULT '1' NOT NULL,
        CONSTRAINT pk_embedding_identity PRIMARY KEY (active),
        CONSTRAINT ck_embedding_identity_one_row CHECK (active = 1)
    )
    """,
    """
    CREATE TABLE stepwell.entities (
        user_id TEXT NOT NULL,
        entity_id UUID NOT NULL,
        type TEXT NOT NULL,
        name TEXT NOT NULL,
        origin TEXT NOT NULL,
        role TEXT,
        facts JSONB DEFAULT '[]' NOT NULL,
        description TEXT,
        metadata JSONB DEFAULT '{}' NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT pk_entities PRIMARY KEY (user_id, entity_id),
        CONSTRAINT ck_entities_user_id CHECK (user_id <> ''),
        CONSTRAINT ck_entities_origin CHECK (origin IN ('user', 'metadata', 'title', 'text'))
    )
    """,
    """
    CREATE TABLE stepwell.jobs (
        job_id UUID NOT NULL,
        user_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        status TEXT DEFAULT 'queued' NOT NULL,
        payload JSONB DEFAULT '{}' NOT NULL,
        progress JSONB DEFAULT '{}' NOT NULL,
        error TEXT,
        attempts SMALLINT DEFAULT '0' NOT NULL,
        run_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        leased_until TIMESTAMP WITH TIME ZONE,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        finished_at TIMESTAMP WITH TIME ZONE,
        CONSTRAINT pk_jobs PRIMARY KEY (job_id),
        CONSTRAINT ck_jobs_user_id CHECK (user_id <> ''),
        CONSTRAINT ck_jobs_status CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled'))
    )
    """,
    """
    CREATE INDEX ix_jobs_waiting ON stepwell.jobs (run_at) WHERE status IN ('queued', 'running')
    """,
    """
    CREATE TABLE stepwell.lexemes (
        user_id TEXT NOT NULL,
        lexeme TEXT COLLATE "C" NOT NULL,
        df INTEGER NOT NULL,
        tail_no BIGINT NOT NULL,
        tail_size INTEGER NOT NULL,
        CONSTRAINT pk_lexemes PRIMARY KEY (user_id, lexeme),
        CONSTRAINT ck_lexemes_user_id CHECK (user_id <> '')
    )
    """,
    """
    CREATE TABLE stepwell.postings (
        user_id TEXT NOT NULL,
        lexeme TEXT COLLATE "C" NOT NULL,
        first_no BIGINT NOT NULL,
        items BIGINT[] NOT NULL,
        CONSTRAINT pk_postings PRIMARY KEY (user_id, lexeme, first_no),
        CONSTRAINT ck_postings_user_id CHECK (user_id <> '')
    )
    """,
    """
    CREATE TABLE stepwell.sources (
        user_id TEXT NOT NULL,
        source_id UUID NOT NULL,
        path TEXT NOT NULL,
        glob TEXT NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        synced_at TIMESTAMP WITH TIME ZONE,
        CONSTRAINT pk_sources PRIMARY KEY (user_id, source_id),
        CONSTRAINT ck_sources_user_id CHECK (user_id <> '')
    )
    """,
    """
    CREATE TABLE stepwell.tenants (
        user_id TEXT NOT NULL,
        version BIGINT DEFAULT '0' NOT NULL,
        next_chunk_no BIGINT DEFAULT '1' NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT pk_tenants PRIMARY KEY (user_id),
        CONSTRAINT ck_tenants_user_id CHECK (user_id <> '')
    )
    """,
    """
    CREATE TABLE stepwell.text_statistics (
        user_id TEXT NOT NULL,
        config TEXT NOT NULL,
        chunks BIGINT NOT NULL,
        tokens BIGINT NOT NULL,
        CONSTRAINT pk_text_statistics PRIMARY KEY (user_id, config),
        CONSTRAINT ck_text_statistics_user_id CHECK (user_id <> '')
    )
    """,
    """
    CREATE TABLE stepwell.documents (
        user_id TEXT NOT NULL,
        document_id UUID NOT NULL,
        source_id UUID,
        identity BYTEA NOT NULL,
        uri TEXT,
        title TEXT NOT NULL,
        config TEXT NOT NULL,
        metadata JSONB DEFAULT '{}' NOT NULL,
        content TEXT NOT NULL,
        content_hash BYTEA NOT NULL,
        attributes_hash BYTEA NOT NULL,
        chunk_count INTEGER NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT pk_documents PRIMARY KEY (user_id, document_id),
        CONSTRAINT ck_documents_user_id CHECK (user_id <> ''),
        CONSTRAINT uq_documents_user_id_identity UNIQUE (user_id, identity),
        CONSTRAINT fk_documents_sources FOREIGN KEY(user_id, source_id)
            REFERENCES stepwell.sources (user_id, source_id)
    )
    """,
    """
    CREATE INDEX ix_documents_user_id_created_at_document_id ON stepwell.documents (user_id, created_at, document_id)
    """,
    """
    CREATE INDEX ix_documents_metadata ON stepwell.documents USING gin (metadata jsonb_path_ops)
    """,
    """
    CREATE INDEX ix_documents_user_id_source_id ON stepwell.documents (user_id, source_id)
    """,
    """
    CREATE TABLE stepwell.entity_members (
        user_id TEXT NOT NULL,
        entity_id UUID NOT NULL,
        member_id UUID NOT NULL,
        CONSTRAINT pk_entity_members PRIMARY KEY (user_id, entity_id, member_id),
        CONSTRAINT ck_entity_members_user_id CHECK (user_id <> ''),
        CONSTRAINT fk_entity_members_entity FOREIGN KEY(user_id, entity_id)
            REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE,
        CONSTRAINT fk_entity_members_member FOREIGN KEY(user_id, member_id)
            REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_entity_members_user_id_member_id ON stepwell.entity_members (user_id, member_id)
    """,
    """
    CREATE TABLE stepwell.entity_names (
        user_id TEXT NOT NULL,
        name_key BYTEA NOT NULL,
        entity_id UUID NOT NULL,
        name TEXT NOT NULL,
        CONSTRAINT pk_entity_names PRIMARY KEY (user_id, name_key, entity_id),
        CONSTRAINT ck_entity_names_user_id CHECK (user_id <> ''),
        CONSTRAINT fk_entity_names_entities FOREIGN KEY(user_id, entity_id)
            REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_entity_names_user_id_entity_id ON stepwell.entity_names (user_id, entity_id)
    """,
    """
    CREATE TABLE stepwell.chunks (
        user_id TEXT NOT NULL,
        chunk_id UUID NOT NULL,
        chunk_no BIGINT NOT NULL,
        document_id UUID NOT NULL,
        chunk_index INTEGER NOT NULL,
        content TEXT NOT NULL,
        start_offset INTEGER NOT NULL,
        end_offset INTEGER NOT NULL,
        heading_path TEXT[] NOT NULL,
        config TEXT NOT NULL,
        tsv TSVECTOR NOT NULL,
        length INTEGER NOT NULL,
        embedding_key UUID NOT NULL,
        CONSTRAINT pk_chunks PRIMARY KEY (user_id, chunk_id),
        CONSTRAINT ck_chunks_user_id CHECK (user_id <> ''),
        CONSTRAINT uq_chunks_user_id_document_id_chunk_index UNIQUE (user_id, document_id, chunk_index),
        CONSTRAINT fk_chunks_documents FOREIGN KEY(user_id, document_id)
            REFERENCES stepwell.documents (user_id, document_id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_chunks_tsv ON stepwell.chunks USING gin (tsv)
    """,
    """
    CREATE INDEX ix_chunks_user_id_embedding_key ON stepwell.chunks (user_id, embedding_key)
    """,
    """
    CREATE UNIQUE INDEX uq_chunks_user_id_chunk_no ON stepwell.chunks (user_id, chunk_no) INCLUDE (chunk_id)
    """,
    """
    CREATE TABLE stepwell.embeddings (
        user_id TEXT NOT NULL,
        chunk_no BIGINT NOT NULL,
        document_id UUID NOT NULL,
        embedding vector({dimension}) NOT NULL,
        CONSTRAINT pk_embeddings PRIMARY KEY (user_id, chunk_no),
        CONSTRAINT ck_embeddings_user_id CHECK (user_id <> ''),
        CONSTRAINT fk_embeddings_chunks FOREIGN KEY(user_id, chunk_no)
            REFERENCES stepwell.chunks (user_id, chunk_no) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_embeddings_embedding
    ON stepwell.embeddings USING hnsw (embedding vector_cosine_ops) WITH (m = 16, ef_construction = 200)
    """,
    """
    CREATE INDEX ix_embeddings_user_id_document_id ON stepwell.embeddings (user_id, document_id)
    """,
    """
    CREATE TABLE stepwell.mentions (
        user_id TEXT NOT NULL,
        entity_id UUID NOT NULL,
        chunk_no BIGINT NOT NULL,
        kind TEXT NOT NULL,
        document_id UUID NOT NULL,
        count INTEGER NOT NULL,
        CONSTRAINT pk_mentions PRIMARY KEY (user_id, entity_id, chunk_no, kind),
        CONSTRAINT ck_mentions_user_id CHECK (user_id <> ''),
        CONSTRAINT ck_mentions_kind CHECK (kind IN ('text', 'attendee', 'metadata', 'title')),
        CONSTRAINT fk_mentions_entities FOREIGN KEY(user_id, entity_id)
            REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE,
        CONSTRAINT fk_mentions_chunks FOREIGN KEY(user_id, chunk_no)
            REFERENCES stepwell.chunks (user_id, chunk_no) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_mentions_user_id_chunk_no ON stepwell.mentions (user_id, chunk_no)
    """,
    """
    CREATE INDEX ix_mentions_user_id_document_id ON stepwell.mentions (user_id, document_id)
    """,
)

TENANT_TABLES = (
    "tenants", "sources", "documents", "chunks", "embeddings", "text_statistics", "lexemes", "postings",
    "entities", "entity_names", "entity_members", "mentions",
)  # fmt: skip

INLINE = (
    "ALTER TABLE stepwell.embeddings ALTER COLUMN embedding SET STORAGE MAIN",
    "ALTER TABLE stepwell.postings ALTER COLUMN items SET STORAGE PLAIN",
    "ALTER TABLE stepwell.postings SET (fillfactor = 85)",
    "ALTER TABLE stepwell.lexemes SET (fillfactor = 80)",
)

ENTER = """
CREATE FUNCTION stepwell.enter(p_user text, p_timeout_ms integer, p_candidates integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    stored float8 := (SELECT reltuples FROM pg_class WHERE oid = CAST('stepwell.embeddings' AS regclass));
    breadth float8 := p_candidates * (1.1 + 0.5 * greatest(0, log(2, CAST(greatest(stored, 1) / 20000 AS numeric))));
BEGIN
    EXECUTE format('SET LOCAL stepwell.user_id = %L', p_user);
    EXECUTE format('SET LOCAL statement_timeout = %s', p_timeout_ms);
    EXECUTE format('SET LOCAL hnsw.ef_search = %s', least(1000, CAST(ceil(breadth) AS integer)));
    SET LOCAL lock_timeout = '10s';
    SET LOCAL hnsw.iterative_scan = 'strict_order';
    SET LOCAL hnsw.max_scan_tuples = 2147483647;
    SET LOCAL hnsw.scan_mem_multiplier = 16;
    SET LOCAL plan_cache_mode = 'force_custom_plan';
    SET LOCAL jit = off;
    SET LOCAL enable_memoize = off;
    SET LOCAL enable_mergejoin = off;
    SET LOCAL max_parallel_workers_per_gather = 0;
END
$$
"""

PASSES = """
CREATE FUNCTION stepwell.passes(
    document_id uuid, source_id uuid, metadata jsonb, created_at timestamptz,
    only_documents uuid[], only_sources uuid[], containing jsonb, matching jsonpath,
    after timestamptz, before timestamptz
) RETURNS boolean
LANGUAGE sql STABLE
RETURN (only_documents IS NULL OR document_id = ANY (only_documents))
    AND (only_sources IS NULL OR source_id = ANY (only_sources))
    AND (containing IS NULL OR metadata @> containing)
    AND (matching IS NULL OR jsonb_path_exists_tz(metadata, matching, '{}', true))
    AND (after IS NULL OR created_at >= after)
    AND (before IS NULL OR created_at < before)
"""

ROLE = """
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'stepwell_service') THEN
        CREATE ROLE stepwell_service LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE EXCEPTION 'This role may not create roles: run CREATE ROLE stepwell_service LOGIN PASSWORD ... first.';
END
$$
"""

# `@@` and `@>` lose their GIN index under row-level security unless they are leakproof; only a superuser may say so.
LEAKPROOF = """
DO $$
BEGIN
    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF;
        ALTER FUNCTION pg_catalog.jsonb_contains(jsonb, jsonb) LEAKPROOF;
    END IF;
END
$$
"""

POLICY = """
CREATE POLICY own_rows ON stepwell.{table}
USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
"""


def upgrade() -> None:
    """Create everything, typed by the embedding model of the settings."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    dimension = int(context.config.attributes["dimension"])
    if not 1 <= dimension <= MAX_HNSW_DIMENSIONS:
        raise ValueError(f"HNSW takes at most {MAX_HNSW_DIMENSIONS} dimensions, the settings ask for {dimension}")
    for statement in (*TABLES, *INLINE, ENTER, PASSES, ROLE, LEAKPROOF):
        op.execute(statement.replace("{dimension}", str(dimension)))
    for table in TENANT_TABLES:
        op.execute(f"ALTER TABLE stepwell.{table} ENABLE ROW LEVEL SECURITY")
        op.execute(POLICY.format(table=table))
    op.execute("GRANT USAGE ON SCHEMA stepwell TO stepwell_service")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA stepwell TO stepwell_service")
    op.execute("REVOKE INSERT, UPDATE, DELETE ON stepwell.embedding_identity FROM stepwell_service")
    op.execute("REVOKE INSERT, UPDATE, DELETE ON stepwell.alembic_version FROM stepwell_service")
    identity = sa.text("INSERT INTO stepwell.embedding_identity (model, dimension) VALUES (:model, :dimension)")
    op.execute(identity.bindparams(model=str(context.config.attributes["model"]), dimension=dimension))


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
