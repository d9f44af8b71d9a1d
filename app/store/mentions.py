"""Which names stand where?

Every change runs under the user's lock, in the transaction that stores or removes the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from app.shapes import IndexText
from app.store import sql, tables
from app.store.db import Reading, Writing

_m = tables.mentions.c
_e = tables.entities.c
_c = tables.chunks.c
_d = tables.documents.c
MOST_CHUNKS = 2_000
"""Chunks in which a new title is looked for: a name that more chunks hold leads nowhere."""
_FOUND_AT_INGEST = ("title", "text")


@dataclass(frozen=True, slots=True)
class Named:
    """An entity that a name alone makes."""

    entity_id: UUID
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity in a chunk."""

    entity_id: UUID
    chunk_no: int
    document_id: UUID
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Place:
    """A chunk in which names are looked for."""

    chunk_no: int
    document_id: UUID
    content: str


async def lock(db: Writing, user_id: str) -> None:
    """Take the user's lock, as whoever stores or removes a document does."""
    await db.execute(sql.statement("lock_tenant"), {"user_id": user_id, "chunks": 0})


async def begin(db: Writing, user_id: str, document_id: UUID, *, version: int) -> str | None:
    """Forget what ingest found in a document, note that it is being read anew, and return its title."""
    old = sa.delete(tables.mentions).where(
        _m.user_id == user_id, _m.document_id == document_id, _m.kind.in_(_FOUND_AT_INGEST)
    )
    await db.execute(old)
    note = sa.update(tables.documents).where(_d.user_id == user_id, _d.document_id == document_id)
    title: str | None = await db.scalar(note.values(names_version=version).returning(_d.title))
    return title


async def places(db: Reading, user_id: str, document_id: UUID, *, limit: int, offset: int) -> list[Place]:
    """A document's chunks in order."""
    query = sa.select(_c.chunk_no, _c.document_id, _c.content).where(
        _c.user_id == user_id,
        _c.document_id == document_id,
        _c.chunk_index >= offset,
        _c.chunk_index < offset + limit,
    )
    return [Place(*row) for row in await db.execute(query.order_by(_c.chunk_index))]


async def is_matched(db: Reading, user_id: str, entity_id: UUID) -> bool:
    """Whether texts are linked to this entity already wherever its name stands in them."""
    origin = await db.scalar(sa.select(_e.origin).where(_e.user_id == user_id, _e.entity_id == entity_id))
    return origin not in (None, "text")


async def ensure(db: Writing, user_id: str, named: Sequence[Named], *, origin: str) -> None:
    """Give every name an entity."""
    binds = {
        "entity_ids": [name.entity_id for name in named],
        "keys": [name.key.encode() for name in named],
        "names": [name.text for name in named],
    }
    await db.execute(sql.statement("name_entities"), {"user_id": user_id, "origin": origin, **binds})


async def known(db: Reading, user_id: str, keys: Iterable[str]) -> dict[str, list[UUID]]:
    """The entities that are matched in any spelling of case, by those of the keys that name them."""
    rows = await db.execute(sql.statement("known_names"), {"user_id": user_id, "keys": [key.encode() for key in keys]})
    found: dict[str, list[UUID]] = {}
    for row in rows:
        found.setdefault(row.name_key.decode(), []).append(row.entity_id)
    return found


async def holding(db: Reading, user_id: str, phrase: IndexText, *, besides: UUID) -> list[Place]:
    """Up to MOST_CHUNKS chunks of other documents than `besides` that hold the phrase as the text index reads it."""
    binds = {"folded": phrase.folded, "plain": phrase.plain, "document_id": besides, "limit": MOST_CHUNKS}
    rows = await db.execute(sql.statement("phrase_chunks"), {"user_id": user_id, **binds})
    return [Place(row.chunk_no, row.document_id, row.content) for row in rows]


async def add(db: Writing, user_id: str, found: Sequence[Mention]) -> None:
    """Store mentions; those that are there already stay as they are."""
    if not found:
        return
    binds = {
        "entity_ids": [mention.entity_id for mention in found],
        "chunk_nos": [mention.chunk_no for mention in found],
        "document_ids": [mention.document_id for mention in found],
        "kinds": [mention.kind for mention in found],
        "counts": [mention.count for mention in found],
    }
    await db.execute(sql.statement("insert_mentions"), {"user_id": user_id, **binds})


async def of_document(db: Reading, user_id: str, document_id: UUID) -> list[UUID]:
    """The entities that a document mentions or is titled by."""
    query = sa.select(_m.entity_id).distinct().where(_m.user_id == user_id, _m.document_id == document_id)
    return list(await db.scalars(query))


async def prune(db: Writing, user_id: str, entity_ids: Sequence[UUID]) -> None:
    """Forget those of the entities that ingest made and nothing mentions now; one that titles nothing is no title."""
    if not entity_ids:
        return
    ours = (
        _e.user_id == user_id,
        _e.entity_id == sa.any_(sa.literal(list(entity_ids), sa.ARRAY(sa.Uuid))),
        _e.origin.in_(_FOUND_AT_INGEST),
    )
    mentioned = sa.select(_m.entity_id).where(_m.user_id == user_id, _m.entity_id == _e.entity_id)
    await db.execute(sa.delete(tables.entities).where(*ours, ~mentioned.exists()))
    titled = mentioned.where(_m.kind == "title")
    await db.execute(sa.update(tables.entities).where(*ours, ~titled.exists()).values(origin="text"))


async def unread(db: Reading, *, version: int, limit: int) -> list[tuple[str, UUID]]:
    """Documents of any user whose names were read by an older version of the rules, or never. The owner's to ask."""
    query = sa.select(_d.user_id, _d.document_id).where(_d.names_version < version)
    return [(row.user_id, row.document_id) for row in await db.execute(query.limit(limit))]
