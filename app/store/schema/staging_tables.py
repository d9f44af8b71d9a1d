"""Defines the tables in which large documents are prepared, and which chunk numbers are hidden meanwhile."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import REAL, TSVECTOR

from app.store.schema import columns

staged_documents = Table(
    "staged_documents",
    columns.metadata,
    *columns.tenant(),
    Column("job_id", Uuid, nullable=False),
    Column("document_id", Uuid, nullable=False),
    Column("identity", LargeBinary, nullable=False),
    Column("uri", Text),
    Column("title", Text, nullable=False),
    Column("config", Text, nullable=False),
    columns.json("metadata"),
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
    columns.metadata,
    *columns.tenant(),
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
    columns.metadata,
    *columns.tenant(),
    # Numbers with postings, but without visible chunks.
    Column("first_no", BigInteger, nullable=False),
    Column("last_no", BigInteger, nullable=False),
    Column("config", Text, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    # The job that stores these chunks or removes their postings; null: none yet.
    Column("job_id", Uuid),
    PrimaryKeyConstraint("user_id", "first_no"),
)
