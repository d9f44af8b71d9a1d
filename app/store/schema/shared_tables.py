"""Defines the tables that belong to no user, or are read before the user is known: keys, jobs, the embedding model.

They have no row-level security. The service's role has no privilege on api_keys and key_uses, which it reaches through
one function each; jobs are claimed by one function, whichever user's they are.
"""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from app.store.schema import columns

metadata = columns.metadata

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", Text, nullable=False),
    *columns.tenant(),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("name", Text, nullable=False, server_default=""),
    columns.moment("created_at"),
    Column("expires_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
    PrimaryKeyConstraint("key_id"),
)

key_uses = Table(
    "key_uses",
    metadata,
    Column("key_id", Text, nullable=False),
    Column("day", Date, nullable=False),
    Column("scope", Text, nullable=False),
    *columns.tenant(),
    Column("uses", BigInteger, nullable=False),
    Column("last_used_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("key_id", "day", "scope"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("job_id", Uuid, nullable=False),
    *columns.tenant(),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="queued"),
    columns.json("payload"),
    columns.json("progress"),
    Column("error", Text),
    Column("attempts", SmallInteger, nullable=False, server_default="0"),
    columns.moment("run_at"),
    Column("leased_until", DateTime(timezone=True)),
    columns.moment("created_at"),
    Column("finished_at", DateTime(timezone=True)),
    Column("failures", SmallInteger, nullable=False, server_default="0"),
    columns.json("result"),
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
    columns.moment("started_at"),
    Column("active", SmallInteger, nullable=False, server_default="1"),
    CheckConstraint("active = 1", name="one_row"),
    PrimaryKeyConstraint("active"),
)

NAMES = frozenset(table.name for table in (api_keys, key_uses, jobs, embedding_identity, embedding_target))
