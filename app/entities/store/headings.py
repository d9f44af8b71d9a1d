"""Stores which chunks lie in a section whose heading is the name of an entity.

A heading names its section as a title names its document, but it is not a mention: it does not link the document to
the entity, is never listed, and does not guide a search. Every change requires the user's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from app.database.schema import tables
from app.database.transactions import Reading, Writing

_h = tables.headings.c
_e = tables.entities.c


@dataclass(frozen=True, slots=True)
class HeadingChunk:
    """A chunk in a section that an entity's name heads; `section_no` is the number of the section's first chunk."""

    entity_id: UUID
    section_no: int
    chunk_no: int
    document_id: UUID


async def delete(db: Writing, document_id: UUID) -> None:
    """Delete the headings of a document."""
    await db.execute(sa.delete(tables.headings).where(_h.user_id == db.user_id, _h.document_id == document_id))


async def add(db: Writing, found: Iterable[HeadingChunk]) -> None:
    """Store the headings of a document; their entities must exist."""
    rows = [
        {
            "user_id": db.user_id,
            "entity_id": one.entity_id,
            "section_no": one.section_no,
            "chunk_no": one.chunk_no,
            "document_id": one.document_id,
        }
        for one in found
    ]
    await db.execute(sa.insert(tables.headings), rows)


async def of_documents(db: Reading, document_ids: Sequence[UUID]) -> frozenset[UUID]:
    """The entities whose names are headings of documents."""
    these = _h.document_id == sa.any_(sa.literal(list(document_ids), sa.ARRAY(sa.Uuid)))
    query = sa.select(_h.entity_id).distinct().where(_h.user_id == db.user_id, these)
    return frozenset(await db.scalars(query))


async def heading_entities(db: Reading, entity_ids: Sequence[UUID]) -> set[UUID]:
    """The entities among these whose names are headings."""
    if not entity_ids:
        return set()
    wanted = _h.entity_id == sa.any_(sa.literal(list(entity_ids), sa.ARRAY(sa.Uuid)))
    return set(await db.scalars(sa.select(_h.entity_id).distinct().where(_h.user_id == db.user_id, wanted)))


def is_heading(user_id: str) -> sa.Exists:
    """The SQL condition that a name of an entity row is a heading."""
    return sa.select(_h.entity_id).where(_h.user_id == user_id, _h.entity_id == _e.entity_id).exists()
