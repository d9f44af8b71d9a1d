"""Defines the tables of sources and their files."""

from __future__ import annotations

import sqlalchemy as sa

from app.database.schema import tables
from app.database.schema.tables import documents

sources = tables.user_table(
    "sources",
    sa.Column("source_id", sa.Uuid, nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    # Patterns, one to a line.
    sa.Column("glob", sa.Text, nullable=False),
    tables.moment("created_at"),
    sa.Column("synced_at", sa.DateTime(timezone=True)),
    sa.Column("text_field", sa.Text),
    sa.Column("watch", sa.Boolean, nullable=False, server_default="false"),
    # Whether the folder must be one of those that sources may be added from over HTTP.
    sa.Column("confined", sa.Boolean, nullable=False, server_default="true"),
    # The latest job that synchronises it, and the result of the latest one that is done.
    sa.Column("job_id", sa.Uuid),
    tables.json("result"),
    # Null for a source that was added before names existed: the name of its folder.
    sa.Column("name", sa.Text),
    sa.PrimaryKeyConstraint("user_id", "source_id"),
    sa.UniqueConstraint("user_id", "name"),
)

source_files = tables.user_table(
    "source_files",
    sa.Column("source_id", sa.Uuid, nullable=False),
    sa.Column("path", sa.Text(collation="C"), nullable=False),
    # Of the stored version; null: none is stored, or it is to be read again.
    sa.Column("size", sa.BigInteger),
    sa.Column("mtime_ns", sa.BigInteger),
    sa.Column("content_hash", sa.LargeBinary),
    sa.Column("documents", sa.Integer, nullable=False, server_default="0"),
    # Why the file could not be stored as it is now.
    sa.Column("error", sa.Text),
    sa.Column("job_id", sa.Uuid, nullable=False),
    sa.PrimaryKeyConstraint("user_id", "source_id", "path"),
    sa.ForeignKeyConstraint(["user_id", "source_id"], [sources.c.user_id, sources.c.source_id], ondelete="CASCADE"),
)

documents.append_constraint(sa.ForeignKeyConstraint(["user_id", "source_id"], [sources.c.user_id, sources.c.source_id]))

TABLES = (sources, source_files)
