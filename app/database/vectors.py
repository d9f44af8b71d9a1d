"""Formats vectors for pgvector, and fails a transaction if the tables of vectors belong to an unexpected model.

The tables of the model in use are `embeddings` and `entity_vectors`. While the vectors of another model are computed,
they are in `embeddings_next` and `entity_vectors_next`. The switch drops the first tables and renames the second. A
transaction locks the table in use when it begins, and reads its object id, which identifies the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import asyncpg
from pgvector import Vector

from app import errors

VectorValue = str | Sequence[float]
"""A vector as Postgres text or as numbers."""
READS = "stepwell.vector_tables(false) AS vector_tables"
WRITES = "stepwell.vector_tables(true) AS vector_tables"

_SCHEMA = (
    "SELECT n.nspname FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace WHERE t.oid = to_regtype($1)"
)


def as_text(vector: Sequence[float]) -> str:
    """A vector in pgvector's text form, to the nine digits that a 32-bit float has."""
    return f"[{','.join(['%.9g'] * len(vector))}]" % tuple(vector)


def as_texts(values: Iterable[str | Sequence[float]]) -> list[str]:
    """Vectors in pgvector's text form; a text is taken as it is."""
    return [one if isinstance(one, str) else as_text(one) for one in values]


async def register(driver: asyncpg.Connection) -> bool:
    """Let a connection accept and return vectors as sequences of numbers. False if pgvector is not installed.

    This takes a tenth of the time of an array, because the driver examines each number of an array in Python.
    """
    schema = await driver.fetchval(_SCHEMA, "vector")
    if schema is None:
        return False
    await driver.set_type_codec(
        "vector",
        schema=schema,
        encoder=lambda vector: Vector(list(vector)).to_binary(),
        decoder=lambda form: Vector.from_binary(form).to_list(),
        format="binary",
    )
    return True


class VectorTables(NamedTuple):
    """The object ids of the table of vectors in use and of the table being filled; 0 if there is none."""

    current: int
    next: int


_expected: ContextVar[int | None] = ContextVar("expected_vector_table", default=None)


@contextmanager
def expecting(table: int) -> Iterator[None]:
    """Make the transactions of a block fail unless this table of vectors is in use."""
    token = _expected.set(table)
    try:
        yield
    finally:
        _expected.reset(token)


def read_locked(first_row: Any) -> VectorTables:
    """The tables that a transaction has locked, from its first row; zeros in a transaction without a user.

    Raises ModelReplaced if another table is expected.
    """
    found = getattr(first_row, "vector_tables", None)
    if not found:
        return VectorTables(0, 0)
    tables, expected = VectorTables(*found), _expected.get()
    if expected not in (None, tables.current):
        raise errors.ModelReplaced
    return tables
