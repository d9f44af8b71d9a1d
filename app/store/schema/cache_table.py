"""Defines the table that keeps the vectors of passages for texts that are stored again."""

from __future__ import annotations

from pgvector.sqlalchemy import Vector
from sqlalchemy import BigInteger, Column, Index, Integer, PrimaryKeyConstraint, Table, Text, Uuid

from app.store.schema import columns

embedding_cache = Table(
    "embedding_cache",
    columns.metadata,
    *columns.tenant(),
    Column("model", Text, nullable=False),
    Column("dimension", Integer, nullable=False),
    # What the model was asked for, since many models embed queries and passages differently.
    Column("task", Text, nullable=False),
    Column("text_hash", Uuid, nullable=False),
    # Of any dimension, so that vectors of two models can be kept.
    Column("embedding", Vector(), nullable=False),
    Column("hits", BigInteger, nullable=False, server_default="0"),
    columns.moment("used_at"),
    PrimaryKeyConstraint("user_id", "model", "dimension", "task", "text_hash"),
    Index(None, "user_id", "used_at", postgresql_include=["hits"]),
)
