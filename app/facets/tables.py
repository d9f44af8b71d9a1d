"""Defines the tables of counted facets."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text, text
from sqlalchemy.dialects.postgresql import JSONB

from app.database.schema import tables

metadata = tables.metadata

facet_keys = Table(
    "facet_keys",
    metadata,
    *tables.tenant(),
    Column("key", Text, nullable=False),
    Column("type", Text, nullable=False),
    # Whose value is of this type.
    Column("documents", BigInteger, nullable=False),
    # Of this type, with the elements of lists.
    Column("distinct_values", BigInteger, nullable=False),
    PrimaryKeyConstraint("user_id", "key", "type"),
)

facet_values = Table(
    "facet_values",
    metadata,
    *tables.tenant(),
    Column("key", Text, nullable=False),
    # The value's beginning in lower case, and a hash of all of it: values may be too long for an index.
    Column("opening", Text(collation="C"), nullable=False),
    Column("hash", BigInteger, nullable=False),
    Column("value", JSONB, nullable=False),
    Column("documents", BigInteger, nullable=False),
    PrimaryKeyConstraint("user_id", "key", "opening", "hash"),
    Index("ix_facet_values_documents", "user_id", "key", text("documents DESC"), "opening", "hash"),
)

TABLES = (facet_keys, facet_values)
