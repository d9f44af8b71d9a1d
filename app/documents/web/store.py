"""Keeps with a document what a site said about the version of the page that it was fetched from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.database.schema import tables
from app.database.transactions import Reading, Writing

_d = tables.documents.c


@dataclass(frozen=True, slots=True)
class DocumentOfPage:
    """A document with what was noted when its page was fetched; `version` is that of `IngestResult`."""

    document_id: UUID
    title: str
    chunk_count: int
    version: bytes
    fetched: Mapping[str, Any]


async def find(db: Reading, *, identity: bytes) -> DocumentOfPage | None:
    """The document with this identity, if it was fetched."""
    version = _d.content_hash.concat(_d.attributes_hash)
    query = sa.select(_d.document_id, _d.title, _d.chunk_count, version, _d.fetched)
    query = query.where(_d.user_id == db.user_id, _d.identity == identity, _d.fetched.is_not(None))
    row = (await db.execute(query)).one_or_none()
    return None if row is None else DocumentOfPage(*row)


async def note(db: Writing, document_id: UUID, fetched: Mapping[str, Any] | None) -> None:
    """Note what was said about the page of a document, if that is still stored."""
    update = sa.update(tables.documents).values(fetched=sa.null() if fetched is None else dict(fetched))
    await db.execute(update.where(_d.user_id == db.user_id, _d.document_id == document_id))
