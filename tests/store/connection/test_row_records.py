"""Rows become instances of a dataclass by the names of their columns."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from app.store.connection import row_records
from app.store.connection.transactions import Database


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values."""

    word: str
    number: int


async def test_columns_are_matched_by_name_in_any_order(database: Database, user: str) -> None:
    async with database.reading(user) as reading:
        rows = (await reading.execute(sa.text("SELECT 1 AS number, 'a' AS word UNION ALL SELECT 2, 'b'"))).all()
    assert row_records.of(Pair, rows) == [Pair("a", 1), Pair("b", 2)]
    assert row_records.of(Pair, []) == []
