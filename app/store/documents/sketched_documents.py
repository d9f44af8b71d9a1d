"""Reads the sketches of documents, and names documents. Runs `sketched_documents.sql`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from app.shapes import NamedDocument
from app.store.connection import sql
from app.store.connection.transactions import Reading
from app.store.schema import tables

_d = tables.documents.c


@dataclass(frozen=True, slots=True)
class SketchedDocuments:
    """Ids, the first bytes of the hashes of the texts, and sketches of documents, packed in one order.

    `unread` is the number of the user's other documents whose sketches were not read.
    """

    ids: bytes
    hashes: bytes
    sketches: bytes
    unread: int


async def read(db: Reading, *, most: int, width: int) -> SketchedDocuments:
    """The sketches, of `width` bytes, of the user's `most` newest documents."""
    binds = {"user_id": db.user_id, "most": most, "width": width}
    row = (await db.execute(sql.statement("sketched_documents"), binds)).one()
    unread = row.unread
    if row.documents == most:
        count = sa.select(sa.func.count()).select_from(tables.documents).where(_d.user_id == db.user_id)
        unread += int(await db.scalar(count) or 0) - most
    return SketchedDocuments(row.ids or b"", row.hashes or b"", row.sketches or b"", unread)


async def named(db: Reading, ids: Collection[UUID]) -> list[NamedDocument]:
    """Those of these documents that exist, oldest first."""
    these = _d.document_id == sa.any_(sa.literal(list(ids), sa.ARRAY(sa.Uuid)))
    query = sa.select(_d.document_id, _d.title, _d.uri).where(_d.user_id == db.user_id, these)
    return [NamedDocument(*row) for row in await db.execute(query.order_by(_d.created_at, _d.document_id))]
