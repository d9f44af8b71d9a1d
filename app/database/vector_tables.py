"""Records which tables of vectors a transaction has locked, and fails it if they are not those of the expected model.

The tables of the model in use are `embeddings` and `entity_vectors`. While the vectors of another model are computed,
these are in `embeddings_next` and `entity_vectors_next`; the switch drops the first and renames the second. A
transaction locks the table in use when it begins and reads its object id, which identifies the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from app import errors

READS = "stepwell.vector_tables(false) AS vector_tables"
WRITES = "stepwell.vector_tables(true) AS vector_tables"


class VectorTables(NamedTuple):
    """The object ids of the table of vectors in use and of the one that is being filled, 0 if there is none."""

    current: int
    next: int


_expected: ContextVar[int | None] = ContextVar("expected_vector_table", default=None)


@contextmanager
def expecting(table: int) -> Iterator[None]:
    """Let the transactions of a block fail unless this is the table of vectors in use."""
    token = _expected.set(table)
    try:
        yield
    finally:
        _expected.reset(token)


def read_locked(first_row: Any) -> VectorTables:
    """The tables that a transaction has locked, by its first row; zeros in one that belongs to no user.

    Raises ModelReplaced if another table is expected.
    """
    found = getattr(first_row, "vector_tables", None)
    if not found:
        return VectorTables(0, 0)
    tables, expected = VectorTables(*found), _expected.get()
    if expected not in (None, tables.current):
        raise errors.ModelReplaced
    return tables
