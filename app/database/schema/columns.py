"""Defines the columns and the HNSW index that several tables share."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, DateTime, Index, MetaData, Text, func, text
from sqlalchemy.dialects.postgresql import JSONB

SCHEMA = "stepwell"
HNSW = {"m": 16, "ef_construction": 200}

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
