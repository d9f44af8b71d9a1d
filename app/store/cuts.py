"""Finds the documents that were cut with other options than the current ones."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from app.store import tables
from app.store.db import Reading, Writing
from app.store.documents import DocumentSource

_d = tables.documents.c
_c = tables.chunks.c


class Cut(NamedTuple):
    """The options with which documents are cut, size and overlap of chunks in tokens, and the version of cleaning."""

    tokens: int
    overlap: int
    cleaning: int


async def count(db: Reading, user_id: str, cut: Cut) -> int:
    """How many of the user's documents were cut with other options."""
    query = sa.select(sa.func.count()).select_from(tables.documents).where(_d.user_id == user_id, _differs(cut))
    return int(await db.scalar(query) or 0)


async def page(db: Reading, user_id: str, cut: Cut | None, *, after: UUID | None, limit: int) -> list[UUID]:
    """The next documents by id that were cut with other options, or all if no options are given."""
    query = sa.select(_d.document_id).where(_d.user_id == user_id).order_by(_d.document_id).limit(limit)
    if cut is not None:
        query = query.where(_differs(cut))
    if after is not None:
        query = query.where(_d.document_id > after)
    return list(await db.scalars(query))


async def passages(db: Reading, user_id: str, document_id: UUID) -> list[tuple[int, int, UUID]]:
    """Start, end and embedding key of each of a document's chunks, in order."""
    query = sa.select(_c.start_offset, _c.end_offset, _c.embedding_key).order_by(_c.chunk_index)
    return [tuple(row) for row in await db.execute(query.where(_c.user_id == user_id, _c.document_id == document_id))]


async def mark(db: Writing, user_id: str, source: DocumentSource, cut: Cut) -> None:
    """Record that a document's chunks are those of these options, unless the document has changed."""
    document = source.document
    same = (_d.document_id == document.document_id, _d.updated_at == document.updated_at)
    change = sa.update(tables.documents).where(_d.user_id == user_id, *same)
    await db.execute(change.values(chunk_tokens=cut.tokens, chunk_overlap=cut.overlap, cleaning_version=cut.cleaning))


def _differs(cut: Cut) -> sa.ColumnElement[bool]:
    return sa.or_(_d.chunk_tokens != cut.tokens, _d.chunk_overlap != cut.overlap, _d.cleaning_version != cut.cleaning)
