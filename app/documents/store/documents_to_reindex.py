"""Lists and marks the documents whose chunks must be cut again, and records with which options they were cut.

A document is cut again if it was cut with other options, or if it is marked: with a chunk size that no option has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, SharedTransaction, Writing
from app.documents.store.documents import DocumentSource

_d = tables.documents.c
_c = tables.chunks.c


class Cut(NamedTuple):
    """The options of a cut: size and overlap of chunks in tokens, and the version of the cleaning rules."""

    tokens: int
    overlap: int
    cleaning: int


Which = Cut | Literal["marked", "every"]
"""Selects documents that were cut with other options than these, marked documents, or all documents."""
_MARK = 0


async def count(db: Reading, which: Which) -> int:
    """The number of the user's documents that `which` selects."""
    query = sa.select(sa.func.count()).select_from(tables.documents).where(_d.user_id == db.user_id, _by(which))
    return int(await db.scalar(query) or 0)


async def are_stale(db: SharedTransaction, *, cleaning: int) -> bool:
    """Whether a document of any user was stored by earlier rules of cleaning. Requires the database's owner."""
    return bool(await db.scalar(sa.select(sa.exists().where(_d.cleaning_version < cleaning))))


async def page(db: Reading, which: Which, *, after: UUID | None, limit: int) -> list[UUID]:
    """The next documents that `which` selects, by id."""
    query = sa.select(_d.document_id).where(_d.user_id == db.user_id, _by(which)).order_by(_d.document_id).limit(limit)
    if after is not None:
        query = query.where(_d.document_id > after)
    return list(await db.scalars(query))


async def passages(db: Reading, document_id: UUID) -> list[tuple[int, int, UUID]]:
    """The start, end and embedding key of each chunk of a document, in order."""
    query = sa.select(_c.start_offset, _c.end_offset, _c.embedding_key).order_by(_c.chunk_index)
    return [
        tuple(row) for row in await db.execute(query.where(_c.user_id == db.user_id, _c.document_id == document_id))
    ]


async def mark(db: Writing, document_ids: Sequence[UUID]) -> None:
    """Mark documents so that they are cut again in any case."""
    these = (_d.user_id == db.user_id, sql.among(_d.document_id, document_ids))
    await db.execute(sa.update(tables.documents).where(*these).values(chunk_tokens=_MARK))


async def record(db: Writing, source: DocumentSource, cut: Cut) -> None:
    """Record that a document is cut with these options, unless the document has changed."""
    document = source.document
    same = (_d.document_id == document.document_id, _d.updated_at == document.updated_at)
    change = sa.update(tables.documents).where(_d.user_id == db.user_id, *same)
    values = {"chunk_tokens": cut.tokens, "chunk_overlap": cut.overlap, "cleaning_version": cut.cleaning}
    await db.execute(change.values(values))


def _by(which: Which) -> sa.ColumnElement[bool]:
    if not isinstance(which, Cut):
        return sa.true() if which == "every" else _d.chunk_tokens == _MARK
    changed = (_d.chunk_tokens != which.tokens, _d.chunk_overlap != which.overlap)
    return sa.or_(*changed, _d.cleaning_version != which.cleaning)
