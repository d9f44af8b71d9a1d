"""Defines the SQLAlchemy tables of the schema `stepwell`.

`user_id` comes first in every primary, unique and foreign key of a table with rows of users, so that the schema can be
distributed by it. The tables in SHARED are the exceptions.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects.postgresql import JSONB, REAL, TSVECTOR

from app import capability

SCHEMA = "stepwell"
HNSW = {"m": 16, "ef_construction": 100}
NEXT = ("embeddings_next", "entity_vectors_next")
"""Tables for the vectors of the next model. They exist only until it replaces the model in use."""
MOST_VECTOR, MOST_HALFVEC = 2_000, 4_000
"""The largest numbers of dimensions that an HNSW index allows."""

metadata = sa.MetaData(
    schema=SCHEMA,
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    },
)


def tenant(*, is_key: bool = False) -> list[sa.Column[str] | sa.CheckConstraint]:
    """The column of the user who owns a row, with its check."""
    user = sa.Column("user_id", sa.Text, nullable=False, primary_key=is_key)
    return [user, sa.CheckConstraint("user_id <> ''", name="user_id")]


def user_table(name: str, *items: sa.schema.SchemaItem) -> sa.Table:
    """A table with rows of users. `user_id` is its first column and the first column of its primary key."""
    return sa.Table(name, metadata, *tenant(is_key=True), *items)


def belongs_to(
    parent: sa.Column[Any], column: str | None = None, *, name: str | None = None
) -> sa.ForeignKeyConstraint:
    """A foreign key to a row of the same user. When that row is deleted, the rows that refer to it are deleted too."""
    target = [parent.table.c.user_id, parent]
    return sa.ForeignKeyConstraint(["user_id", column or parent.name], target, ondelete="CASCADE", name=name)


def moment(name: str) -> sa.Column[object]:
    """A point in time, by default the present."""
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())


def json(name: str, empty: str = "{}") -> sa.Column[object]:
    """JSON that is never null."""
    return sa.Column(name, JSONB, nullable=False, server_default=sa.text(f"'{empty}'"))


def hnsw(name: str) -> sa.Index:
    """The index of the vectors in the column `embedding`, by cosine."""
    operators = {"embedding": "halfvec_cosine_ops"}
    return sa.Index(name, "embedding", postgresql_using="hnsw", postgresql_with=HNSW, postgresql_ops=operators)


def complete() -> sa.MetaData:
    """All tables, including tables that capabilities define in their own folders."""
    capability.declared("tables")
    return metadata


tenants = user_table(
    "tenants",
    sa.Column("version", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("next_chunk_no", sa.BigInteger, nullable=False, server_default="1"),
    moment("created_at"),
    sa.Column("names_version", sa.BigInteger, nullable=False, server_default="0"),
    # When texts may be linked to changed names again; null: now.
    sa.Column("names_pause", sa.DateTime(timezone=True)),
    # Intercept and slope of relevance, of `answerable` and over several hops, in millionths; null: the defaults.
    sa.Column("calibration", sa.ARRAY(sa.BigInteger)),
    # What they were fitted to.
    json("calibrated"),
    # Groups of words and phrases: lists of terms, and for some of targets.
    json("synonyms", "[]"),
    # The version when they were stored; 0 without synonyms.
    sa.Column("synonyms_version", sa.BigInteger, nullable=False, server_default="0"),
    sa.CheckConstraint("cardinality(calibration) = 6", name="calibration"),
)

documents = user_table(
    "documents",
    sa.Column("document_id", sa.Uuid, primary_key=True),
    sa.Column("source_id", sa.Uuid),
    sa.Column("identity", sa.LargeBinary, nullable=False),
    sa.Column("uri", sa.Text),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    json("metadata"),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("content_hash", sa.LargeBinary, nullable=False),
    sa.Column("attributes_hash", sa.LargeBinary, nullable=False),
    sa.Column("chunk_count", sa.Integer, nullable=False),
    moment("created_at"),
    moment("updated_at"),
    sa.Column("names_version", sa.Integer, nullable=False, server_default="0"),
    # {"moments": {key: [the dates in it, in microseconds since 1970]}}: the variables of the JSON paths of filters.
    sa.Column("moments", JSONB, sa.Computed("stepwell.moments(metadata)", persisted=True), nullable=False),
    # How the text was cut into chunks: its format, and the size and overlap of chunks in tokens.
    sa.Column("markdown", sa.Boolean, nullable=False, server_default="true"),
    sa.Column("chunk_tokens", sa.SmallInteger, nullable=False, server_default="160"),
    sa.Column("chunk_overlap", sa.SmallInteger, nullable=False, server_default="24"),
    sa.Column("page_starts", sa.ARRAY(sa.Integer), nullable=False, server_default="{}"),
    sa.Column("cleaning_version", sa.SmallInteger, nullable=False, server_default="1"),
    # The file of the source that the document comes from.
    sa.Column("source_path", sa.Text),
    # The entities that the language model has named: objects with type, name, aliases and role.
    json("extracted", "[]"),
    sa.UniqueConstraint("user_id", "identity"),
    sa.Index(None, "user_id", "created_at", "document_id"),
    sa.Index(None, "user_id", "source_id", "source_path"),
    sa.Index(
        "ix_documents_metadata", "metadata", postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"}
    ),
    sa.Index(None, "names_version"),
)

chunks = user_table(
    "chunks",
    sa.Column("chunk_id", sa.Uuid, primary_key=True),
    sa.Column("chunk_no", sa.BigInteger, nullable=False),
    sa.Column("document_id", sa.Uuid, nullable=False),
    sa.Column("chunk_index", sa.Integer, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("start_offset", sa.Integer, nullable=False),
    sa.Column("end_offset", sa.Integer, nullable=False),
    sa.Column("heading_path", sa.ARRAY(sa.Text), nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("tsv", TSVECTOR, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("embedding_key", sa.Uuid, nullable=False),
    sa.UniqueConstraint("user_id", "document_id", "chunk_index", deferrable=True, initially="IMMEDIATE"),
    belongs_to(documents.c.document_id),
    sa.Index("ix_chunks_tsv", "tsv", postgresql_using="gin"),
    sa.Index("uq_chunks_user_id_chunk_no", "user_id", "chunk_no", unique=True, postgresql_include=["chunk_id"]),
    sa.Index(None, "user_id", "embedding_key"),
)


# Apart from the chunks, so that exact scans and re-embedding read nothing else. The model sets the dimension.
embeddings = user_table(
    "embeddings",
    sa.Column("chunk_no", sa.BigInteger, primary_key=True),
    sa.Column("document_id", sa.Uuid, nullable=False),
    sa.Column("embedding", HALFVEC(384), nullable=False),
    belongs_to(chunks.c.chunk_no),
    sa.Index(None, "user_id", "document_id"),
    hnsw("ix_embeddings_embedding"),
)

text_statistics = user_table(
    "text_statistics",
    sa.Column("config", sa.Text, primary_key=True),
    sa.Column("chunks", sa.BigInteger, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
)

lexemes = user_table(
    "lexemes",
    sa.Column("lexeme", sa.Text(collation="C"), primary_key=True),
    sa.Column("df", sa.Integer, nullable=False),
    sa.Column("tail_no", sa.BigInteger, nullable=False),
    sa.Column("tail_size", sa.Integer, nullable=False),
)

postings = user_table(
    "postings",
    sa.Column("lexeme", sa.Text(collation="C"), primary_key=True),
    sa.Column("first_no", sa.BigInteger, primary_key=True),
    sa.Column("items", sa.ARRAY(sa.BigInteger), nullable=False),
)

entities = user_table(
    "entities",
    sa.Column("entity_id", sa.Uuid, primary_key=True),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("role", sa.Text),
    json("facts", "[]"),
    sa.Column("description", sa.Text),
    json("metadata"),
    moment("created_at"),
    moment("updated_at"),
    sa.CheckConstraint("origin IN ('user', 'metadata', 'title', 'text')", name="origin"),
    sa.Index(
        "ix_entities_user_id_name_entity_id",
        "user_id",
        "name",
        "entity_id",
        postgresql_where=sa.text("origin <> 'text'"),
    ),
)

entity_names = user_table(
    "entity_names",
    sa.Column("name_key", sa.LargeBinary, primary_key=True),
    sa.Column("entity_id", sa.Uuid, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("place", sa.SmallInteger, nullable=False, server_default="0"),
    belongs_to(entities.c.entity_id),
    # Not by user first: for a user that the statistics do not contain, the planner would look up names by key in it.
    sa.Index(None, "entity_id", "user_id"),
)

entity_members = user_table(
    "entity_members",
    sa.Column("entity_id", sa.Uuid, primary_key=True),
    sa.Column("member_id", sa.Uuid, primary_key=True),
    belongs_to(entities.c.entity_id, "entity_id", name="fk_entity_members_entity"),
    belongs_to(entities.c.entity_id, "member_id", name="fk_entity_members_member"),
    sa.Index(None, "user_id", "member_id"),
)

entity_words = user_table(
    "entity_words",
    sa.Column("lexeme", sa.Text(collation="C"), primary_key=True),
    sa.Column("entity_id", sa.Uuid, primary_key=True),
    belongs_to(entities.c.entity_id),
    sa.Index(None, "user_id", "entity_id"),
)


# The vectors of descriptions of entities.
entity_vectors = user_table(
    "entity_vectors",
    sa.Column("entity_id", sa.Uuid, primary_key=True),
    sa.Column("embedding", HALFVEC(384), nullable=False),
    belongs_to(entities.c.entity_id),
    hnsw("ix_entity_vectors_embedding"),
)

entity_changes = user_table(
    "entity_changes",
    sa.Column("name_key", sa.LargeBinary, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    # The user's names_version; 0 for a name that no gazetteer contains.
    sa.Column("version", sa.BigInteger, nullable=False),
    # The user's version when texts came to differ from the name; null: texts are linked to it.
    sa.Column("pending_since", sa.BigInteger),
    # The number of the first chunk that was linked when the name had changed already.
    sa.Column("chunks_before", sa.BigInteger, nullable=False),
    sa.Index(None, "user_id", "version"),
    sa.Index(
        "ix_entity_changes_pending",
        "user_id",
        "pending_since",
        "name_key",
        postgresql_where=sa.text("pending_since IS NOT NULL"),
    ),
)

mentions = user_table(
    "mentions",
    sa.Column("entity_id", sa.Uuid, primary_key=True),
    sa.Column("chunk_no", sa.BigInteger, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("document_id", sa.Uuid, nullable=False),
    sa.Column("count", sa.Integer, nullable=False),
    sa.CheckConstraint("kind IN ('text', 'attendee', 'metadata', 'title')", name="kind"),
    belongs_to(entities.c.entity_id),
    belongs_to(chunks.c.chunk_no),
    sa.Index(None, "user_id", "chunk_no"),
    sa.Index(None, "user_id", "document_id"),
    sa.Index(None, "user_id", "entity_id", "kind", "document_id", postgresql_include=["count"]),
)

headings = user_table(
    "headings",
    sa.Column("entity_id", sa.Uuid, primary_key=True),
    sa.Column("section_no", sa.BigInteger, primary_key=True),
    sa.Column("chunk_no", sa.BigInteger, primary_key=True),
    sa.Column("document_id", sa.Uuid, nullable=False),
    belongs_to(entities.c.entity_id),
    belongs_to(chunks.c.chunk_no),
    sa.Index(None, "user_id", "chunk_no"),
    sa.Index(None, "user_id", "document_id"),
)

staged_documents = user_table(
    "staged_documents",
    sa.Column("job_id", sa.Uuid, primary_key=True),
    sa.Column("document_id", sa.Uuid, nullable=False),
    sa.Column("identity", sa.LargeBinary, nullable=False),
    sa.Column("uri", sa.Text),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    json("metadata"),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("content_hash", sa.LargeBinary, nullable=False),
    sa.Column("attributes_hash", sa.LargeBinary, nullable=False),
    # Null unless it was given with the document.
    sa.Column("created_at", sa.DateTime(timezone=True)),
    sa.Column("markdown", sa.Boolean, nullable=False),
    sa.Column("chunk_tokens", sa.SmallInteger, nullable=False),
    sa.Column("chunk_overlap", sa.SmallInteger, nullable=False),
    sa.Column("page_starts", sa.ARRAY(sa.Integer), nullable=False, server_default="{}"),
    sa.Column("cleaning_version", sa.SmallInteger, nullable=False, server_default="1"),
    sa.Column("source_id", sa.Uuid),
    sa.Column("source_path", sa.Text),
)

staged_chunks = user_table(
    "staged_chunks",
    sa.Column("job_id", sa.Uuid, primary_key=True),
    sa.Column("chunk_index", sa.Integer, primary_key=True),
    sa.Column("chunk_id", sa.Uuid, nullable=False),
    # Set when the chunk is staged, with its postings.
    sa.Column("chunk_no", sa.BigInteger),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("start_offset", sa.Integer, nullable=False),
    sa.Column("end_offset", sa.Integer, nullable=False),
    sa.Column("heading_path", sa.ARRAY(sa.Text), nullable=False),
    sa.Column("tsv", TSVECTOR, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("embedding_key", sa.Uuid, nullable=False),
    # Null until it is embedded.
    sa.Column("embedding", sa.ARRAY(REAL)),
)

hidden_chunks = user_table(
    "hidden_chunks",
    # Numbers with postings, but without visible chunks.
    sa.Column("first_no", sa.BigInteger, primary_key=True),
    sa.Column("last_no", sa.BigInteger, nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    # The job that stores these chunks or removes their postings; null: none yet.
    sa.Column("job_id", sa.Uuid),
)

audit_log = user_table(
    "audit_log",
    sa.Column("event_id", sa.Uuid, primary_key=True),
    moment("at"),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    json("counts"),
    sa.Index(None, "user_id", "at"),
)

idempotency_keys = user_table(
    "idempotency_keys",
    sa.Column("key", sa.Text, primary_key=True),
    moment("created_at"),
    # The hash of the request and its response; null while the request is processed.
    sa.Column("fingerprint", sa.LargeBinary),
    sa.Column("status", sa.SmallInteger),
    sa.Column("location", sa.Text),
    sa.Column("body", sa.Text),
)

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("key_id", sa.Text, primary_key=True),
    *tenant(),
    sa.Column("secret_hash", sa.LargeBinary, nullable=False),
    sa.Column("scopes", sa.ARRAY(sa.Text), nullable=False),
    sa.Column("name", sa.Text, nullable=False, server_default=""),
    moment("created_at"),
    sa.Column("expires_at", sa.DateTime(timezone=True)),
    sa.Column("revoked_at", sa.DateTime(timezone=True)),
    # Filters that documents must pass for the key to see them; null: it sees all.
    sa.Column("filters", JSONB(none_as_null=True)),
    sa.Column("shows_entities", sa.Boolean, nullable=False, server_default="false"),
    # The public half of the pair with which tokens are signed; null for a key that is older than tokens.
    sa.Column("token_key", sa.LargeBinary),
)

key_uses = sa.Table(
    "key_uses",
    metadata,
    sa.Column("key_id", sa.Text, primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("scope", sa.Text, primary_key=True),
    *tenant(),
    sa.Column("uses", sa.BigInteger, nullable=False),
    sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False),
)

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("job_id", sa.Uuid, primary_key=True),
    *tenant(),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False, server_default="queued"),
    json("payload"),
    json("progress"),
    sa.Column("error", sa.Text),
    sa.Column("attempts", sa.SmallInteger, nullable=False, server_default="0"),
    moment("run_at"),
    sa.Column("leased_until", sa.DateTime(timezone=True)),
    moment("created_at"),
    sa.Column("finished_at", sa.DateTime(timezone=True)),
    sa.Column("failures", sa.SmallInteger, nullable=False, server_default="0"),
    json("result"),
    # See `Restriction.audience` of the key that queued it; null for a key that sees everything.
    sa.Column("audience", sa.Text),
    sa.CheckConstraint("status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="status"),
    sa.Index(None, "user_id", "created_at", "job_id"),
    sa.Index("ix_jobs_of_document", "user_id", "kind", "status", sa.text("(payload ->> 'document_id')")),
    sa.Index("ix_jobs_waiting", "run_at", postgresql_where=sa.text("status IN ('queued', 'running')")),
)

embedding_identity = sa.Table(
    "embedding_identity",
    metadata,
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("dimension", sa.Integer, nullable=False),
    sa.Column("active", sa.SmallInteger, primary_key=True, server_default="1"),
    # The name of the first model: the embedding keys of chunks keep it.
    sa.Column("keyed_by", sa.Text),
    sa.CheckConstraint("active = 1", name="one_row"),
)

embedding_target = sa.Table(
    "embedding_target",
    metadata,
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("dimension", sa.Integer, nullable=False),
    moment("started_at"),
    sa.Column("active", sa.SmallInteger, primary_key=True, server_default="1"),
    sa.CheckConstraint("active = 1", name="one_row"),
)

SHARED = frozenset(table.name for table in (api_keys, key_uses, jobs, embedding_identity, embedding_target))
"""Tables that belong to no user, or are read before the user is known. They have no row-level security.

The service's role has no privilege on api_keys and key_uses; it uses them through one function each. One function
claims jobs of all users.
"""


def of_users() -> tuple[sa.Table, ...]:
    """The tables with rows of users, referenced tables first."""
    return tuple(table for table in complete().sorted_tables if table.name not in SHARED)
