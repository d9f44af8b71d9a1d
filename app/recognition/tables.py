"""Defines the table of recognised pictures."""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, PrimaryKeyConstraint, Table, Uuid

from app.database.schema import tables

metadata = tables.metadata

recognised_pictures = Table(
    "recognised_pictures",
    metadata,
    *tables.tenant(),
    # Made of the picture and the recogniser.
    Column("picture_key", Uuid, nullable=False),
    # Encrypted with a key that is made of the picture, too.
    Column("lines", LargeBinary, nullable=False),
    tables.moment("used_at"),
    PrimaryKeyConstraint("user_id", "picture_key"),
    Index(None, "user_id", "used_at"),
)

TABLES = (recognised_pictures,)
