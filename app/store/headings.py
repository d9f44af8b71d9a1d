"""What are the sections called in which chunks stand?

A heading names its section as a title names its document, but is no mention: it says nothing of the document, is never
listed, and guides no search. Every change runs under the user's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from app.store import tables
from app.store.db import Reading, Writing

_h = tables.headings.c
_e = tables.entities.c


@dataclass(frozen=True, slots=True)
class HeadingChunk:
    """A chunk in a section that the entity's name heads; a section is known by its first chunk."""

    entity_id: UUID
    section_no: int
    chunk_no: int
    document_id: UUID


async def delete(db: Writing, user_id: str, document_id: UUID) -> None:
    """Forget what a document's sections are called."""
    await db.execute(sa.delete(tables.headings).where(_h.user_id == user_id, _h.document_id == document_id))


async def add(db: Writing, user_id: str, found: Iterable[HeadingChunk]) -> None:
    """Store what a document's sections are called, whose entities are there."""
    rows = [
        {
            "user_id": user_id,
            "entity_id": one.entity_id,
            "section_no": one.section_no,
            "chunk_no": one.chunk_no,
            "document_id": one.document_id,
        }
        for one in found
    ]
    if rows:
        await db.execute(sa.insert(tables.headings), rows)


async def of_document(db: Reading, user_id: str, document_id: UUID) -> set[UUID]:
    """The entities whose names head a document's sections."""
    query = sa.select(_h.entity_id).distinct().where(_h.user_id == user_id, _h.document_id == document_id)
    return set(await db.scalars(query))


async def heading_entities(db: Reading, user_id: str, entity_ids: Sequence[UUID]) -> set[UUID]:
    """Those of the entities whose name heads a section."""
    if not entity_ids:
        return set()
    wanted = _h.entity_id == sa.any_(sa.literal(list(entity_ids), sa.ARRAY(sa.Uuid)))
    return set(await db.scalars(sa.select(_h.entity_id).distinct().where(_h.user_id == user_id, wanted)))


def is_heading(user_id: str) -> sa.Exists:
    """Whether a row of the entities has a name that heads a section."""
    return sa.select(_h.entity_id).where(_h.user_id == user_id, _h.entity_id == _e.entity_id).exists()
