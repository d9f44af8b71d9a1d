"""Defines the SQLAlchemy tables of the schema `stepwell`.

All are in the schema `stepwell`. `user_id` comes first in every primary, unique and foreign key of a tenant table, so
that the schema can be distributed by it. The tables in SHARED are the exceptions.
"""

from __future__ import annotations

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Date,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, REAL, TSVECTOR

from app import capability

SCHEMA = "stepwell"
HNSW = {"m": 16, "ef_construction": 100}
NEXT = ("embeddings_next", "entity_vectors_next")
"""Tables of the vectors of the model that is to replace the one in use, which exist meanwhile only."""
MOST_VECTOR, MOST_HALFVEC = 2_000, 4_000
"""The largest numbers of dimensions that an HNSW index allows."""

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    },
)


def tenant() -> list[Column[str] | CheckConstraint]:
    """The column of the user who owns a row, with its check."""
    return [Column("user_id", Text, nullable=False), CheckConstraint("user_id <> ''", name="user_id")]


def moment(name: str) -> Column[object]:
    """A point in time, by default the present."""
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def json(name: str, empty: str = "{}") -> Column[object]:
    """JSON that is never null."""
    return Column(name, JSONB, nullable=False, server_default=text(f"'{empty}'"))


def hnsw(name: str) -> Index:
    """The index of the vectors in the column `embedding`, by cosine."""
    operators = {"embedding": "halfvec_cosine_ops"}
    return Index(name, "embedding", postgresql_using="hnsw", postgresql_with=HNSW, postgresql_ops=operators)


def complete() -> MetaData:
    """All tables, also the ones that capabilities define in their own folders."""
    capability.declared("tables")
    return metadata


tenants = Table(
    "tenants",
    metadata,
    *tenant(),
    Column("version", BigInteger, nullable=False, server_default="0"),
    Column("next_chunk_no", BigInteger, nullable=False, server_default="1"),
    moment("created_at"),
    Column("names_version", BigInteger, nullable=False, server_default="0"),
    # When texts may be linked to changed names again; null: now.
    Column("names_pause", DateTime(timezone=True)),
    # Intercept and slope of relevance, then those of answerable, in millionths; null: the defaults.
    Column("calibration", ARRAY(BigInteger)),
    # From what they were fitted.
    json("calibrated"),
    # Groups of words and phrases: lists of terms, and for some of targets.
    json("synonyms", "[]"),
    # The version when they were stored; 0 without synonyms.
    Column("synonyms_version", BigInteger, nullable=False, server_default="0"),
    CheckConstraint("cardinality(calibration) = 6", name="calibration"),
    PrimaryKeyConstraint("user_id"),
)

documents = Table(
    "documents",
    metadata,
    *tenant(),
    Column("document_id", Uuid, nullable=False),
    Column("source_id", Uuid),
    Column("identity", LargeBinary, nullable=False),
    Column("uri", Text),
    Column("title", Text, nullable=False),
    Column("config", Text, nullable=False),
    json("metadata"),
    Column("content", Text, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("attributes_hash", LargeBinary, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    moment("created_at"),
    moment("updated_at"),
    Column("names_version", Integer, nullable=False, server_default="0"),
    # {"moments": {key: [the dates in it, in microseconds since 1970]}}: the variables of the JSON paths of filters.
    Column("moments", JSONB, Computed("stepwell.moments(metadata)", persisted=True), nullable=False),
    # How the text was cut into chunks: its format, and the size and overlap of chunks in tokens.
    Column("markdown", Boolean, nullable=False, server_default="true"),
    Column("chunk_tokens", SmallInteger, nullable=False, server_default="160"),
    Column("chunk_overlap", SmallInteger, nullable=False, server_default="24"),
    Column("page_starts", ARRAY(Integer), nullable=False, server_default="{}"),
    Column("cleaning_version", SmallInteger, nullable=False, server_default="1"),
    # The file of the source that the document comes from.
    Column("source_path", Text),
    # The entities that the language model has named: objects with type, name, aliases and role.
    json("extracted", "[]"),
    PrimaryKeyConstraint("user_id", "document_id"),
    UniqueConstraint("user_id", "identity"),
    Index(None, "user_id", "created_at", "document_id"),
    Index(None, "user_id", "source_id", "source_path"),
    Index("ix_documents_metadata", "metadata", postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"}),
    Index(None, "names_version"),
)

chunks = Table(
    "chunks",
    metadata,
    *tenant(),
    Column("chunk_id", Uuid, nullable=False),
    Column("chunk_no", BigInteger, nullable=False),
    Column("document_id", Uuid, nullable=False),
    Column("chunk_index", Integer, nullable=False),
    Column("content", Text, nullable=False),
    Column("start_offset", Integer, nullable=False),
    Column("end_offset", Integer, nullable=False),
    Column("heading_path", ARRAY(Text), nullable=False),
    Column("config", Text, nullable=False),
    Column("tsv", TSVECTOR, nullable=False),
    Column("length", Integer, nullable=False),
    Column("embedding_key", Uuid, nullable=False),
    PrimaryKeyConstraint("user_id", "chunk_id"),
    UniqueConstraint("user_id", "document_id", "chunk_index", deferrable=True, initially="IMMEDIATE"),
    ForeignKeyConstraint(
        ["user_id", "document_id"], [documents.c.user_id, documents.c.document_id], ondelete="CASCADE"
    ),
    Index("ix_chunks_tsv", "tsv", postgresql_using="gin"),
    Index("uq_chunks_user_id_chunk_no", "user_id", "chunk_no", unique=True, postgresql_include=["chunk_id"]),
    Index(None, "user_id", "embedding_key"),
)


# Apart from the chunks, so that exact scans and re-embedding read nothing else. Its dimension is that of the model.
embeddings = Table(
    "embeddings",
    metadata,
    *tenant(),
    Column("chunk_no", BigInteger, nullable=False),
    Column("document_id", Uuid, nullable=False),
    Column("embedding", HALFVEC(384), nullable=False),
    PrimaryKeyConstraint("user_id", "chunk_no"),
    ForeignKeyConstraint(["user_id", "chunk_no"], [chunks.c.user_id, chunks.c.chunk_no], ondelete="CASCADE"),
    Index(None, "user_id", "document_id"),
    hnsw("ix_embeddings_embedding"),
)

text_statistics = Table(
    "text_statistics",
    metadata,
    *tenant(),
    Column("config", Text, nullable=False),
    Column("chunks", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    PrimaryKeyConstraint("user_id", "config"),
)

lexemes = Table(
    "lexemes",
    metadata,
    *tenant(),
    Column("lexeme", Text(collation="C"), nullable=False),
    Column("df", Integer, nullable=False),
    Column("tail_no", BigInteger, nullable=False),
    Column("tail_size", Integer, nullable=False),
    PrimaryKeyConstraint("user_id", "lexeme"),
)

postings = Table(
    "postings",
    metadata,
    *tenant(),
    Column("lexeme", Text(collation="C"), nullable=False),
    Column("first_no", BigInteger, nullable=False),
    Column("items", ARRAY(BigInteger), nullable=False),
    PrimaryKeyConstraint("user_id", "lexeme", "first_no"),
)

entities = Table(
    "entities",
    metadata,
    *tenant(),
    Column("entity_id", Uuid, nullable=False),
    Column("type", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("role", Text),
    json("facts", "[]"),
    Column("description", Text),
    json("metadata"),
    moment("created_at"),
    moment("updated_at"),
    CheckConstraint("origin IN ('user', 'metadata', 'title', 'text')", name="origin"),
    PrimaryKeyConstraint("user_id", "entity_id"),
    Index(
        "ix_entities_user_id_name_entity_id", "user_id", "name", "entity_id", postgresql_where=text("origin <> 'text'")
    ),
)

entity_names = Table(
    "entity_names",
    metadata,
    *tenant(),
    Column("name_key", LargeBinary, nullable=False),
    Column("entity_id", Uuid, nullable=False),
    Column("name", Text, nullable=False),
    Column("place", SmallInteger, nullable=False, server_default="0"),
    PrimaryKeyConstraint("user_id", "name_key", "entity_id"),
    ForeignKeyConstraint(["user_id", "entity_id"], [entities.c.user_id, entities.c.entity_id], ondelete="CASCADE"),
    # Not by user first: for a user that the statistics do not contain, the planner would look up names by key in it.
    Index(None, "entity_id", "user_id"),
)


def _to_entity(column: str, name: str) -> ForeignKeyConstraint:
    target = [entities.c.user_id, entities.c.entity_id]
    return ForeignKeyConstraint(["user_id", column], target, ondelete="CASCADE", name=name)


entity_members = Table(
    "entity_members",
    metadata,
    *tenant(),
    Column("entity_id", Uuid, nullable=False),
    Column("member_id", Uuid, nullable=False),
    PrimaryKeyConstraint("user_id", "entity_id", "member_id"),
    _to_entity("entity_id", "fk_entity_members_entity"),
    _to_entity("member_id", "fk_entity_members_member"),
    Index(None, "user_id", "member_id"),
)

entity_words = Table(
    "entity_words",
    metadata,
    *tenant(),
    Column("lexeme", Text(collation="C"), nullable=False),
    Column("entity_id", Uuid, nullable=False),
    PrimaryKeyConstraint("user_id", "lexeme", "entity_id"),
    ForeignKeyConstraint(["user_id", "entity_id"], [entities.c.user_id, entities.c.entity_id], ondelete="CASCADE"),
    Index(None, "user_id", "entity_id"),
)


# The vectors of descriptions of entities.
entity_vectors = Table(
    "entity_vectors",
    metadata,
    *tenant(),
    Column("entity_id", Uuid, nullable=False),
    Column("embedding", HALFVEC(384), nullable=False),
    PrimaryKeyConstraint("user_id", "entity_id"),
    ForeignKeyConstraint(["user_id", "entity_id"], [entities.c.user_id, entities.c.entity_id], ondelete="CASCADE"),
    hnsw("ix_entity_vectors_embedding"),
)

entity_changes = Table(
    "entity_changes",
    metadata,
    *tenant(),
    Column("name_key", LargeBinary, nullable=False),
    Column("name", Text, nullable=False),
    # The user's names_version; 0 for a name that no gazetteer contains.
    Column("version", BigInteger, nullable=False),
    # The user's version when texts came to differ from the name; null: texts are linked to it.
    Column("pending_since", BigInteger),
    # The number of the first chunk that was linked when the name had changed already.
    Column("chunks_before", BigInteger, nullable=False),
    PrimaryKeyConstraint("user_id", "name_key"),
    Index(None, "user_id", "version"),
    Index(
        "ix_entity_changes_pending",
        "user_id",
        "pending_since",
        "name_key",
        postgresql_where=text("pending_since IS NOT NULL"),
    ),
)

mentions = Table(
    "mentions",
    metadata,
    *tenant(),
    Column("entity_id", Uuid, nullable=False),
    Column("chunk_no", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("document_id", Uuid, nullable=False),
    Column("count", Integer, nullable=False),
    CheckConstraint("kind IN ('text', 'attendee', 'metadata', 'title')", name="kind"),
    PrimaryKeyConstraint("user_id", "entity_id", "chunk_no", "kind"),
    ForeignKeyConstraint(["user_id", "entity_id"], [entities.c.user_id, entities.c.entity_id], ondelete="CASCADE"),
    ForeignKeyConstraint(["user_id", "chunk_no"], [chunks.c.user_id, chunks.c.chunk_no], ondelete="CASCADE"),
    Index(None, "user_id", "chunk_no"),
    Index(None, "user_id", "document_id"),
    Index(None, "user_id", "entity_id", "kind", "document_id", postgresql_include=["count"]),
)

headings = Table(
    "headings",
    metadata,
    *tenant(),
    Column("entity_id", Uuid, nullable=False),
    Column("section_no", BigInteger, nullable=False),
    Column("chunk_no", BigInteger, nullable=False),
    Column("document_id", Uuid, nullable=False),
    PrimaryKeyConstraint("user_id", "entity_id", "section_no", "chunk_no"),
    ForeignKeyConstraint(["user_id", "entity_id"], [entities.c.user_id, entities.c.entity_id], ondelete="CASCADE"),
    ForeignKeyConstraint(["user_id", "chunk_no"], [chunks.c.user_id, chunks.c.chunk_no], ondelete="CASCADE"),
    Index(None, "user_id", "chunk_no"),
    Index(None, "user_id", "document_id"),
)

staged_documents = Table(
    "staged_documents",
    metadata,
    *tenant(),
    Column("job_id", Uuid, nullable=False),
    Column("document_id", Uuid, nullable=False),
    Column("identity", LargeBinary, nullable=False),
    Column("uri", Text),
    Column("title", Text, nullable=False),
    Column("config", Text, nullable=False),
    json("metadata"),
    Column("content", Text, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("attributes_hash", LargeBinary, nullable=False),
    # Null unless it was given with the document.
    Column("created_at", DateTime(timezone=True)),
    Column("markdown", Boolean, nullable=False),
    Column("chunk_tokens", SmallInteger, nullable=False),
    Column("chunk_overlap", SmallInteger, nullable=False),
    Column("page_starts", ARRAY(Integer), nullable=False, server_default="{}"),
    Column("cleaning_version", SmallInteger, nullable=False, server_default="1"),
    Column("source_id", Uuid),
    Column("source_path", Text),
    PrimaryKeyConstraint("user_id", "job_id"),
)

staged_chunks = Table(
    "staged_chunks",
    metadata,
    *tenant(),
    Column("job_id", Uuid, nullable=False),
    Column("chunk_index", Integer, nullable=False),
    Column("chunk_id", Uuid, nullable=False),
    # Null until its postings are stored.
    Column("chunk_no", BigInteger),
    Column("content", Text, nullable=False),
    Column("start_offset", Integer, nullable=False),
    Column("end_offset", Integer, nullable=False),
    Column("heading_path", ARRAY(Text), nullable=False),
    Column("tsv", TSVECTOR, nullable=False),
    Column("length", Integer, nullable=False),
    Column("embedding_key", Uuid, nullable=False),
    # Null until it is embedded.
    Column("embedding", ARRAY(REAL)),
    PrimaryKeyConstraint("user_id", "job_id", "chunk_index"),
)

hidden_chunks = Table(
    "hidden_chunks",
    metadata,
    *tenant(),
    # Numbers with postings, but without visible chunks.
    Column("first_no", BigInteger, nullable=False),
    Column("last_no", BigInteger, nullable=False),
    Column("config", Text, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    # The job that stores these chunks or removes their postings; null: none yet.
    Column("job_id", Uuid),
    PrimaryKeyConstraint("user_id", "first_no"),
)

audit_log = Table(
    "audit_log",
    metadata,
    *tenant(),
    Column("event_id", Uuid, nullable=False),
    moment("at"),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    json("counts"),
    PrimaryKeyConstraint("user_id", "event_id"),
    Index(None, "user_id", "at"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    *tenant(),
    Column("key", Text, nullable=False),
    moment("created_at"),
    # The hash of the request and its response; null while the request is processed.
    Column("fingerprint", LargeBinary),
    Column("status", SmallInteger),
    Column("location", Text),
    Column("body", Text),
    PrimaryKeyConstraint("user_id", "key"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", Text, nullable=False),
    *tenant(),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("name", Text, nullable=False, server_default=""),
    moment("created_at"),
    Column("expires_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
    # Filters that documents must pass for the key to see them; null: it sees all.
    Column("filters", JSONB(none_as_null=True)),
    Column("shows_entities", Boolean, nullable=False, server_default="false"),
    # The public half of the pair with which tokens are signed; null for a key that is older than tokens.
    Column("token_key", LargeBinary),
    PrimaryKeyConstraint("key_id"),
)

key_uses = Table(
    "key_uses",
    metadata,
    Column("key_id", Text, nullable=False),
    Column("day", Date, nullable=False),
    Column("scope", Text, nullable=False),
    *tenant(),
    Column("uses", BigInteger, nullable=False),
    Column("last_used_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("key_id", "day", "scope"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("job_id", Uuid, nullable=False),
    *tenant(),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="queued"),
    json("payload"),
    json("progress"),
    Column("error", Text),
    Column("attempts", SmallInteger, nullable=False, server_default="0"),
    moment("run_at"),
    Column("leased_until", DateTime(timezone=True)),
    moment("created_at"),
    Column("finished_at", DateTime(timezone=True)),
    Column("failures", SmallInteger, nullable=False, server_default="0"),
    json("result"),
    # The restriction of the key that queued it, see `Restriction.audience`; null for one that sees everything.
    Column("audience", Text),
    CheckConstraint("status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="status"),
    PrimaryKeyConstraint("job_id"),
    Index(None, "user_id", "created_at", "job_id"),
    Index("ix_jobs_of_document", "user_id", "kind", "status", text("(payload ->> 'document_id')")),
    Index("ix_jobs_waiting", "run_at", postgresql_where=text("status IN ('queued', 'running')")),
)

embedding_identity = Table(
    "embedding_identity",
    metadata,
    Column("model", Text, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("active", SmallInteger, nullable=False, server_default="1"),
    # The name in the keys of chunks' vectors, which stay those of the first model.
    Column("keyed_by", Text),
    CheckConstraint("active = 1", name="one_row"),
    PrimaryKeyConstraint("active"),
)

embedding_target = Table(
    "embedding_target",
    metadata,
    Column("model", Text, nullable=False),
    Column("dimension", Integer, nullable=False),
    moment("started_at"),
    Column("active", SmallInteger, nullable=False, server_default="1"),
    CheckConstraint("active = 1", name="one_row"),
    PrimaryKeyConstraint("active"),
)

SHARED = frozenset(table.name for table in (api_keys, key_uses, jobs, embedding_identity, embedding_target))
"""Tables that belong to no user, or are read before the user is known; they have no row-level security.

The service's role has no privilege on api_keys and key_uses, which it reaches through one function each; jobs are
claimed by one function, whichever user's they are.
"""


def of_users() -> tuple[Table, ...]:
    """The tables with rows of users, referenced tables first."""
    return tuple(table for table in complete().sorted_tables if table.name not in SHARED)
