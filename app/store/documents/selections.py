"""Lists the documents that pass filters, and counts the rows of documents in every table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from app.shapes import Filters, RowCounts
from app.store.connection import sql
from app.store.connection.transactions import Reading
from app.store.filters import filters as conditions

BLOCKS = 20_000
"""Blocks of postings that are read by one statement."""


class BlockKey(NamedTuple):
    """The place of a block among a user's postings."""

    lexeme: str = ""
    first_no: int = -1


async def page(db: Reading, filters: Filters, *, after: UUID | None, limit: int) -> list[UUID]:
    """The next documents by id that pass the filters."""
    filtering = conditions.binds(conditions.visible(db, filters))
    binds = {"user_id": db.user_id, "after": after, "limit": limit, **filtering}
    return list((await db.execute(sql.statement("documents_by_filter", *filtering), binds)).scalars())


async def count(db: Reading, document_ids: Sequence[UUID]) -> tuple[RowCounts, str]:
    """The numbers of rows of some documents, and the numbers of their chunks as the text of a multirange."""
    binds = {"user_id": db.user_id, "ids": list(document_ids)}
    row = (await db.execute(sql.statement("count_rows_of_documents"), binds)).one()
    counts = RowCounts(row.documents, row.chunks, row.vectors, int(row.postings), row.mentions)
    return counts, row.numbers


_MERGE_RANGES = sql.inline(
    """
    SELECT CAST(coalesce(range_agg(n.numbers), '{}') AS text) AS numbers FROM unnest(:numbers) AS n (numbers)
    """,
    numbers="text[]::int8multirange[]",
)


async def merged(db: Reading, numbers: Sequence[str]) -> str:
    """The union of multiranges of chunk numbers."""
    return str(await db.scalar(_MERGE_RANGES, {"numbers": list(numbers)}))


async def count_postings(db: Reading, numbers: str, *, after: BlockKey) -> tuple[int, BlockKey | None]:
    """The postings of these chunks in the next BLOCKS blocks, and the place of the last one; None after the last."""
    binds = {"user_id": db.user_id, "numbers": numbers, **after._asdict(), "limit": BLOCKS}
    row = (await db.execute(sql.statement("count_postings_of_chunks"), binds)).one()
    return int(row.postings), None if row.lexeme is None else BlockKey(row.lexeme, row.first_no)
