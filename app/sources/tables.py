"""Defines the tables of sources and their files."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)

from app.database.schema import tables
from app.database.schema.tables import documents

metadata = tables.metadata

sources = Table(
    "sources",
    metadata,
    *tables.tenant(),
    Column("source_id", Uuid, nullable=False),
    Column("path", Text, nullable=False),
    # Patterns, one to a line.
    Column("glob", Text, nullable=False),
    tables.moment("created_at"),
    Column("synced_at", DateTime(timezone=True)),
    Column("text_field", Text),
    Column("watch", Boolean, nullable=False, server_default="false"),
    # Whether the folder must be one of those that sources may be added from over HTTP.
    Column("confined", Boolean, nullable=False, server_default="true"),
    # The latest job that synchronises it, and the result of the latest one that is done.
    Column("job_id", Uuid),
    tables.json("result"),
    # Null for a source that was added before names existed: the name of its folder.
    Column("name", Text),
    PrimaryKeyConstraint("user_id", "source_id"),
    UniqueConstraint("user_id", "name"),
)

source_files = Table(
    "source_files",
    metadata,
    *tables.tenant(),
    Column("source_id", Uuid, nullable=False),
    Column("path", Text(collation="C"), nullable=False),
    # Of the stored version; null: none is stored, or it is to be read again.
    Column("size", BigInteger),
    Column("mtime_ns", BigInteger),
    Column("content_hash", LargeBinary),
    Column("documents", Integer, nullable=False, server_default="0"),
    # Why the file could not be stored as it is now.
    Column("error", Text),
    Column("job_id", Uuid, nullable=False),
    PrimaryKeyConstraint("user_id", "source_id", "path"),
    ForeignKeyConstraint(["user_id", "source_id"], [sources.c.user_id, sources.c.source_id], ondelete="CASCADE"),
)

documents.append_constraint(ForeignKeyConstraint(["user_id", "source_id"], [sources.c.user_id, sources.c.source_id]))

TABLES = (sources, source_files)
