"""Defines the tables of feedback."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKeyConstraint, Index, PrimaryKeyConstraint, Table, Text, Uuid

from app.database.schema import tables
from app.database.schema.tables import documents

metadata = tables.metadata

feedback = Table(
    "feedback",
    metadata,
    *tables.tenant(),
    # Made of the query and the passage, so that a later judgement replaces an earlier one.
    Column("feedback_id", Uuid, nullable=False),
    Column("query", Text, nullable=False),
    Column("document_id", Uuid, nullable=False),
    # Null if the document was judged as a whole.
    Column("chunk_id", Uuid),
    Column("helpful", Boolean, nullable=False),
    tables.moment("at"),
    PrimaryKeyConstraint("user_id", "feedback_id"),
    ForeignKeyConstraint(
        ["user_id", "document_id"], [documents.c.user_id, documents.c.document_id], ondelete="CASCADE"
    ),
    Index(None, "user_id", "document_id"),
    Index(None, "user_id", "at"),
)

TABLES = (feedback,)
