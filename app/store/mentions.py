"""Which names stand where?

Every change runs under the user's lock, in the transaction that stores or removes the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.shapes import IndexText
from app.store import entities, headings, name_changes, sql, tables
from app.store.db import Reading, Writing

_m = tables.mentions.c
_e = tables.entities.c
_c = tables.chunks.c
_d = tables.documents.c
MOST_CHUNKS = 2_000
"""Chunks in which a new title is looked for: a name that more chunks hold leads nowhere."""
_AUTOMATIC = ("metadata", "title", "text")


@dataclass(frozen=True, slots=True)
class NameEntity:
    """An entity that a name alone makes."""

    entity_id: UUID
    key: str
    text: str
    type: str = "name"


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity in a chunk."""

    entity_id: UUID
    chunk_no: int
    document_id: UUID
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """What a document says of itself, which counts as said by its first chunk."""

    title: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk in which names are looked for; `opening` if it is its document's first."""

    chunk_no: int
    document_id: UUID
    content: str
    opening: DocumentHead | None = None
    heading_path: tuple[str, ...] = ()


async def lock(db: Writing, user_id: str) -> None:
    """Take the user's lock, as whoever stores or removes a document does."""
    await db.execute(sql.statement("lock_tenant"), {"user_id": user_id, "chunks": 0})


async def begin(db: Writing, user_id: str, document_id: UUID, *, version: int) -> DocumentHead:
    """Forget what was found in a document, note that it is being read anew, and return what it says of itself."""
    old = sa.delete(tables.mentions).where(_m.user_id == user_id, _m.document_id == document_id)
    await db.execute(old)
    await headings.delete(db, user_id, document_id)
    note = sa.update(tables.documents).where(_d.user_id == user_id, _d.document_id == document_id)
    row = (await db.execute(note.values(names_version=version).returning(_d.title, _d.metadata))).one()
    return _opening(row)


async def chunk_texts(db: Reading, user_id: str, document_id: UUID) -> list[ChunkText]:
    """A document's chunks in order."""
    query = _placed(user_id).where(_c.document_id == document_id).order_by(_c.chunk_index)
    return [_place(row) for row in await db.execute(query)]


async def chunk_texts_of(db: Reading, user_id: str, chunk_nos: Sequence[int]) -> list[ChunkText]:
    """Those of the chunks that are still there."""
    wanted = _c.chunk_no == sa.any_(sa.literal(list(chunk_nos), sa.ARRAY(sa.BigInteger)))
    return [_place(row) for row in await db.execute(_placed(user_id).where(wanted).order_by(_c.chunk_no))]


async def matched(db: Reading, user_id: str, entity_ids: Sequence[UUID]) -> set[UUID]:
    """Those of the entities that are titles or more, to which texts are linked wherever the name stands in them."""
    wanted = _e.entity_id == sa.any_(sa.literal(list(entity_ids), sa.ARRAY(sa.Uuid)))
    query = sa.select(_e.entity_id).where(_e.user_id == user_id, wanted, _e.origin != "text")
    return set(await db.scalars(query))


async def ensure(db: Writing, user_id: str, named: Sequence[NameEntity], *, origin: str) -> set[UUID]:
    """Give every name an entity; returns those that were not of this origin before.

    An origin only rises: text, title, metadata. Nothing touches a user's own entities.
    """
    if not named:
        return set()
    binds = {
        "entity_ids": [name.entity_id for name in named],
        "types": [name.type for name in named],
        "keys": [name.key.encode() for name in named],
        "names": [name.text for name in named],
    }
    rows = await db.execute(sql.statement("ensure_named_entities"), {"user_id": user_id, "origin": origin, **binds})
    return set(rows.scalars())


async def known_titles(db: Reading, user_id: str, keys: Iterable[str]) -> dict[str, list[UUID]]:
    """The titles among the keys, which are matched in any spelling of case, with whom they name."""
    rows = await db.execute(
        sql.statement("any_case_names"), {"user_id": user_id, "keys": [key.encode() for key in keys]}
    )
    found: dict[str, list[UUID]] = {}
    for row in rows:
        found.setdefault(row.name_key.decode(), []).append(row.entity_id)
    return found


async def chunks_with_phrase(db: Reading, user_id: str, phrase: IndexText, *, besides: UUID) -> list[ChunkText]:
    """Up to MOST_CHUNKS chunks of other documents than `besides` that hold the phrase as the text index reads it."""
    binds = {"folded": phrase.folded, "plain": phrase.plain, "document_id": besides, "limit": MOST_CHUNKS}
    rows = await db.execute(sql.statement("chunks_holding_phrase"), {"user_id": user_id, **binds})
    return [ChunkText(row.chunk_no, row.document_id, row.content) for row in rows]


async def add(db: Writing, user_id: str, found: Sequence[Mention]) -> None:
    """Store mentions; of one that is there already the larger count stays."""
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
    """The entities that a document mentions, is titled by, or has a section of."""
    query = sa.select(_m.entity_id).distinct().where(_m.user_id == user_id, _m.document_id == document_id)
    return list({*await db.scalars(query), *await headings.of_document(db, user_id, document_id)})


async def prune(db: Writing, user_id: str, entity_ids: Sequence[UUID]) -> None:
    """Forget those of the entities that names made and nothing mentions now, and lower the origin of the others.

    One that no metadata names is a title, one that titles nothing a name from texts, which may head sections.
    """
    if not entity_ids:
        return
    ours = (
        _e.user_id == user_id,
        _e.entity_id == sa.any_(sa.literal(list(entity_ids), sa.ARRAY(sa.Uuid))),
        _e.origin.in_(_AUTOMATIC),
    )
    mentioned = sa.select(_m.entity_id).where(_m.user_id == user_id, _m.entity_id == _e.entity_id)
    tagged = mentioned.where(_m.kind.in_(("attendee", "metadata")))
    untagged = list(await db.scalars(sa.select(_e.entity_id).where(*ours, _e.origin == "metadata", ~tagged.exists())))
    names = await entities.names_of(db, user_id, untagged)
    lowered = sa.update(tables.entities).where(*ours, _e.origin == "metadata", ~tagged.exists())
    await db.execute(lowered.values(origin="title", type="name"))
    unsaid = (~mentioned.exists(), ~headings.is_heading(user_id))
    await db.execute(sa.delete(tables.entities).where(*ours, *unsaid))
    titled = mentioned.where(_m.kind == "title")
    lowered = sa.update(tables.entities).where(*ours, _e.origin == "title", ~titled.exists())
    await db.execute(lowered.values(origin="text"))
    gone = {key: name for known in names.values() for key, name in known.items()}
    await name_changes.record(db, user_id, gone, lowered=True)


async def unread(db: Reading, *, version: int, limit: int) -> list[tuple[str, UUID]]:
    """Documents of any user whose names were read by an older version of the rules, or never. The owner's to ask."""
    query = sa.select(_d.user_id, _d.document_id).where(_d.names_version < version)
    return [(row.user_id, row.document_id) for row in await db.execute(query.limit(limit))]


async def is_unread(db: Reading, user_id: str, document_id: UUID, *, version: int) -> bool:
    """Whether the document is there and its names were read by an older version of the rules, or never."""
    read = await db.scalar(sa.select(_d.names_version).where(_d.user_id == user_id, _d.document_id == document_id))
    return read is not None and read < version


def _placed(user_id: str) -> sa.Select[Any]:
    document = sa.and_(_d.user_id == user_id, _d.document_id == _c.document_id, _c.chunk_index == 0)
    return (
        sa.select(_c.chunk_no, _c.document_id, _c.content, _c.chunk_index, _c.heading_path, _d.title, _d.metadata)
        .outerjoin_from(tables.chunks, tables.documents, document)
        .where(_c.user_id == user_id)
    )


def _place(row: sa.Row[Any]) -> ChunkText:
    opening = None if row.chunk_index else _opening(row)
    return ChunkText(row.chunk_no, row.document_id, row.content, opening, tuple(row.heading_path))


def _opening(row: sa.Row[Any]) -> DocumentHead:
    return DocumentHead(row.title, row.metadata)
