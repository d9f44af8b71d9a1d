"""Lists the documents that pass filters, and reads their numbers of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from app.database import filters as conditions
from app.database import foreign_filter_operators, sql
from app.database.filter_types import Filters
from app.database.schema import tables
from app.database.transactions import Reading
from app.documents.types import RowCounts

_d = tables.documents.c


class SelectedDocument(NamedTuple):
    """A document that passes filters: its place among such documents, and the number of its chunks."""

    created_at: datetime
    document_id: UUID
    chunk_count: int


async def page(db: Reading, filters: Filters, *, after: SelectedDocument | None, limit: int) -> list[SelectedDocument]:
    """The next documents that pass the filters, oldest first."""
    if after is None:
        await foreign_filter_operators.check(db, filters)
    filtering = conditions.binds(conditions.visible(db, filters))
    parts, binds = [*filtering], {"user_id": db.user_id, "limit": limit, **filtering}
    if after is not None:
        parts.append("after")
        binds |= {"after_at": after.created_at, "after_id": after.document_id}
    return [SelectedDocument(*row) for row in await db.execute(sql.statement("documents_by_filter", *parts), binds)]


async def count(db: Reading, document_ids: Sequence[UUID]) -> dict[UUID, RowCounts]:
    """The number of chunks of each document, by id. Documents that no longer exist are omitted."""
    query = sa.select(_d.document_id, _d.chunk_count).where(_d.user_id == db.user_id)
    rows = await db.execute(query.where(sql.among(_d.document_id, document_ids)))
    return {row.document_id: RowCounts(1, row.chunk_count) for row in rows}
