"""Stores mentions of entities in chunks, and entities that are created automatically for names.

Every change runs under the user's lock, in the transaction that stores or removes the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.entities.store import entities, llm_entities, name_changes, titles_and_headings
from app.text.names import names
from app.text.names.metadata_names import Tag
from app.text.names.names import Name

_m = tables.mentions.c
_e = tables.entities.c
_g = tables.entity_members.c
_c = tables.chunks.c
_d = tables.documents.c
_AUTOMATIC = ("metadata", "title", "text")


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity in a chunk."""

    entity_id: UUID
    chunk_no: int
    document_id: UUID
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class LinkedNames:
    """The entities that documents mention, and the entities that their titles and headings name."""

    mentioned: frozenset[UUID] = frozenset()
    titles: frozenset[UUID] = frozenset()
    headings: frozenset[UUID] = frozenset()

    @property
    def every(self) -> list[UUID]:
        """All these entities."""
        return list(self.mentioned | self.titles | self.headings)


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """The title and metadata of a document. Names in them count as mentions in its first chunk.

    So do the entities that a language model has `extracted` from its text.
    """

    title: str
    metadata: Mapping[str, Any]
    extracted: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk to search for names; `opening` is set on the first chunk of a document."""

    chunk_no: int
    document_id: UUID
    content: str
    opening: DocumentHead | None = None
    heading_path: tuple[str, ...] = ()


async def reset(db: Writing, document_id: UUID, *, version: int) -> DocumentHead:
    """Delete the mentions and headings of a document, set its names_version, and return title and metadata."""
    await db.execute(sa.delete(tables.mentions).where(_m.user_id == db.user_id, _m.document_id == document_id))
    await titles_and_headings.delete_headings(db, document_id)
    note = sa.update(tables.documents).where(_d.user_id == db.user_id, _d.document_id == document_id)
    row = (await db.execute(note.values(names_version=version).returning(_d.title, _d.metadata, _d.extracted))).one()
    return _opening(row)


async def chunk_texts(db: Reading, document_id: UUID, *, first: int = 0, limit: int | None = None) -> list[ChunkText]:
    """A document's chunks in order, from the index `first` on."""
    query = _placed(db.user_id).where(_c.document_id == document_id, _c.chunk_index >= first).order_by(_c.chunk_index)
    return [_place(row) for row in await db.execute(query.limit(limit))]


async def chunk_texts_of(db: Reading, chunk_nos: Sequence[int]) -> list[ChunkText]:
    """The chunks among these that still exist, in order.

    They are sorted here: before Postgres 17, a plan without sorting reads all chunks of the user for `ORDER BY`.
    """
    found = await db.execute(_placed(db.user_id).where(sql.among(_c.chunk_no, chunk_nos)))
    return sorted(map(_place, found), key=lambda one: one.chunk_no)


async def heads(db: Reading, document_ids: Iterable[UUID], *, version: int | None = None) -> dict[UUID, DocumentHead]:
    """The title and metadata of the existing documents among these, with `version` only of those that it has linked."""
    query = sa.select(_d.document_id, _d.title, _d.metadata, _d.extracted)
    query = query.where(_d.user_id == db.user_id, sql.among(_d.document_id, document_ids))
    if version is not None:
        query = query.where(_d.names_version >= version)
    return {row.document_id: _opening(row) for row in await db.execute(query)}


async def ensure(db: Writing, named: Sequence[Name | Tag], *, origin: str) -> set[UUID]:
    """Ensure that every name has an entity. Returns the entities that are new, or whose origin or type has changed.

    An origin only rises, in the order text, title, metadata. The user's own entities do not change.
    """
    if not named:
        return set()
    binds = {
        "entity_ids": [name.entity_id for name in named],
        "types": [name.type if isinstance(name, Tag) else "name" for name in named],
        "keys": [name.key.encode() for name in named],
        "names": [name.text for name in named],
    }
    rows = await db.execute(sql.statement("ensure_named_entities"), {"user_id": db.user_id, "origin": origin, **binds})
    return set(rows.scalars())


_RETYPE = sql.inline(
    """
    UPDATE stepwell.entities AS e SET type = g.type, name = g.name
    FROM unnest(:entity_ids::uuid[], :types::text[], :names::text[]) AS g (entity_id, type, name)
    WHERE e.user_id = :user_id AND e.entity_id = g.entity_id AND e.origin = 'metadata' AND e.type <> g.type
      AND (SELECT true FROM stepwell.mentions AS m
           WHERE m.user_id = :user_id AND m.entity_id = e.entity_id AND m.kind IN ('attendee', 'metadata')
           LIMIT 1) IS NULL
    RETURNING e.entity_id
    """
)


async def retype(db: Writing, tags: Sequence[Tag]) -> set[UUID]:
    """Give entities the types of tags if no stored document names them in metadata; returns those that have changed.

    The mentions of the former versions of the documents with these tags must be deleted.
    """
    columns = {"entity_ids": [tag.entity_id for tag in tags], "types": [tag.type for tag in tags]}
    binds = {"user_id": db.user_id, **columns, "names": [tag.text for tag in tags]}
    return set(await db.scalars(_RETYPE, binds)) if tags else set()


async def known_openings(db: Reading, words: Iterable[str], pairs: Iterable[str]) -> set[str]:
    """The words that are names by themselves, and the pairs of words that are names or begin longer names."""
    binds = {"words": "\n".join(sorted(words)), "pairs": "\n".join(sorted(pairs))}
    rows = await db.execute(sql.statement("openings_of_names"), {"user_id": db.user_id, **binds})
    return set(rows.scalars())


async def given_names(db: Reading, keys: Iterable[str]) -> dict[str, list[UUID]]:
    """The entities with these keys that are titles, or headings of several words."""
    binds = {"user_id": db.user_id, "keys": [key.encode() for key in keys]}
    rows = await db.execute(sql.statement("given_names"), binds)
    found: dict[str, list[UUID]] = {}
    for row in rows:
        found.setdefault(row.name_key.decode(), []).append(row.entity_id)
    return found


_INSERT_MENTIONS = sql.inline(
    """
    INSERT INTO stepwell.mentions AS m (user_id, entity_id, chunk_no, document_id, kind, count)
    SELECT :user_id, g.entity_id, g.chunk_no, g.document_id, g.kind, g.count
    FROM unnest(:entity_id::uuid[], :chunk_no::bigint[], :document_id::uuid[], :kind::text[], :count::integer[])
        AS g (entity_id, chunk_no, document_id, kind, count)
    ON CONFLICT (user_id, entity_id, chunk_no, kind) DO UPDATE
    SET count = excluded.count WHERE m.count < excluded.count
    """
)


async def add(db: Writing, found: Sequence[Mention]) -> None:
    """Store mentions. An existing mention keeps the larger count."""
    if not found:
        return
    columns = sql.columns(found, "entity_id", "chunk_no", "document_id", "kind", "count")
    await db.execute(_INSERT_MENTIONS, {"user_id": db.user_id, **columns})


async def of_chunks(db: Reading, chunk_nos: Sequence[int]) -> set[Mention]:
    """The mentions in some chunks."""
    query = sa.select(_m.entity_id, _m.chunk_no, _m.document_id, _m.kind, _m.count)
    query = query.where(_m.user_id == db.user_id, sql.among(_m.chunk_no, chunk_nos))
    return {Mention(*row) for row in await db.execute(query)}


_DELETE_MENTIONS = sql.inline(
    """
    DELETE FROM stepwell.mentions AS m
    USING unnest(:entity_id::uuid[], :chunk_no::bigint[], :kind::text[]) AS g (entity_id, chunk_no, kind)
    WHERE m.user_id = :user_id AND m.entity_id = g.entity_id AND m.chunk_no = g.chunk_no AND m.kind = g.kind
    """
)


async def replace(db: Writing, *, old: Sequence[Mention], new: Sequence[Mention]) -> None:
    """Delete old mentions and add new ones."""
    if old:
        columns = sql.columns(old, "entity_id", "chunk_no", "kind")
        await db.execute(_DELETE_MENTIONS, {"user_id": db.user_id, **columns})
    await add(db, new)


async def of_documents(db: Reading, document_ids: Sequence[UUID]) -> LinkedNames:
    """The entities that documents mention, and the entities that their titles or headings name."""
    query = sa.select(_m.entity_id, sa.func.bool_or(_m.kind == "title"))
    query = query.where(_m.user_id == db.user_id, sql.among(_m.document_id, document_ids))
    found = {entity: is_title for entity, is_title in await db.execute(query.group_by(_m.entity_id))}
    of_titles = frozenset(entity for entity, is_title in found.items() if is_title)
    return LinkedNames(frozenset(found), of_titles, await titles_and_headings.headings_of(db, document_ids))


async def prune(db: Writing, linked: LinkedNames) -> None:
    """Delete the automatic entities among these without mentions or headings, and lower the origin of the others.

    A member of the user's entities stays, because the same name may come again, as with a new version of its document.
    Call it after the documents that contained these names have their new mentions, or none, and for former members. An
    entity that metadata no longer names becomes a title if it is used as one, and otherwise gets the origin `text`.
    Texts are no longer searched for names that no title or heading gives: a job links the texts again.
    """
    if not linked.every:
        return
    ours = (_e.user_id == db.user_id, sql.among(_e.entity_id, linked.every), _e.origin.in_(_AUTOMATIC))
    mentioned = sa.select(_m.entity_id).where(_m.user_id == db.user_id, _m.entity_id == _e.entity_id)
    tagged = mentioned.where(_m.kind.in_(("attendee", "metadata")))
    untagged = list(await db.scalars(sa.select(_e.entity_id).where(*ours, _e.origin == "metadata", ~tagged.exists())))
    gone = await entities.names_of(db, untagged)
    await llm_entities.delete_details(db, untagged)
    lowered = sa.update(tables.entities).where(*ours, _e.origin == "metadata", ~tagged.exists())
    await db.execute(lowered.values(origin="text", type="name", role=None))
    await titles_and_headings.use_titles(db, untagged)
    await titles_and_headings.disuse_titles(db, linked.every)
    contained = sa.select(_g.member_id).where(_g.user_id == db.user_id, _g.member_id == _e.entity_id)
    unsaid = (~mentioned.exists(), ~titles_and_headings.is_heading(db.user_id), ~contained.exists())
    await db.execute(sa.delete(tables.entities).where(*ours, *unsaid))
    changed = {key: name for known in gone.values() for key, name in known.items()}
    if linked.titles:
        changed |= await llm_entities.drop_aliases(db, linked.titles)
    await name_changes.record(db, changed | await _not_given(db, linked))


async def _not_given(db: Reading, linked: LinkedNames) -> dict[str, str]:
    """The names, by key, that texts are no longer searched for, because they are no longer titles or headings."""
    given_before = sql.among(_e.entity_id, linked.titles | linked.headings)
    automatic = (_e.user_id == db.user_id, given_before, _e.origin == "text")
    known = await entities.names_of(db, list(await db.scalars(sa.select(_e.entity_id).where(*automatic))))
    several = {entity for entity, of_one in known.items() if any(map(names.is_searched_heading, of_one))}
    given = await titles_and_headings.list_given(db, known.keys(), several=several)
    ceased = (linked.titles & known.keys() | several) - given
    return {key: name for entity in ceased for key, name in known[entity].items()}


async def count_chunks(db: Reading, document_id: UUID) -> int:
    """The number of a document's chunks; 0 if the document does not exist."""
    query = sa.select(_d.chunk_count).where(_d.user_id == db.user_id, _d.document_id == document_id)
    return int(await db.scalar(query) or 0)


async def chunk_nos(db: Reading, document_id: UUID) -> list[int]:
    """The numbers of a document's chunks in order."""
    query = sa.select(_c.chunk_no).where(_c.user_id == db.user_id, _c.document_id == document_id)
    return list(await db.scalars(query.order_by(_c.chunk_index)))


async def leave(db: Writing, document_id: UUID) -> None:
    """Leave the linking of a document to a job. Each call sets another names_version below 0."""
    change = sa.update(tables.documents).where(_d.user_id == db.user_id, _d.document_id == document_id)
    await db.execute(change.values(names_version=sa.func.least(_d.names_version, 0) - 1))


async def set_version(db: Writing, document_id: UUID, *, version: int) -> None:
    """Set the version of the rules by which a document is linked."""
    change = sa.update(tables.documents).where(_d.user_id == db.user_id, _d.document_id == document_id)
    await db.execute(change.values(names_version=version))


async def version_to_link(db: Reading, document_id: UUID) -> str:
    """Identifies the stored version of a document, its chunks, and whether it has been linked; empty if it is gone.

    A version that is only cut again keeps the time of its last change, but its chunks have other numbers.
    """
    first = sa.select(_c.chunk_no).where(_c.user_id == db.user_id, _c.document_id == document_id, _c.chunk_index == 0)
    query = sa.select(_d.updated_at, _d.names_version, first.scalar_subquery().label("first_no"))
    row = (await db.execute(query.where(_d.user_id == db.user_id, _d.document_id == document_id))).one_or_none()
    return "" if row is None else f"{row.updated_at.isoformat()} {row.names_version} {row.first_no}"


async def list_unlinked(db: Reading, *, version: int, limit: int) -> list[UUID]:
    """Documents that must be linked: their names_version is below `version`."""
    query = sa.select(_d.document_id).where(_d.user_id == db.user_id, _d.names_version < version)
    return list(await db.scalars(query.limit(limit)))


def _placed(user_id: str) -> sa.Select[Any]:
    document = sa.and_(_d.user_id == user_id, _d.document_id == _c.document_id, _c.chunk_index == 0)
    of_chunk = (_c.chunk_no, _c.document_id, _c.content, _c.chunk_index, _c.heading_path)
    query = sa.select(*of_chunk, _d.title, _d.metadata, _d.extracted)
    return query.outerjoin_from(tables.chunks, tables.documents, document).where(_c.user_id == user_id)


def _place(row: sa.Row[Any]) -> ChunkText:
    opening = None if row.chunk_index else _opening(row)
    return ChunkText(row.chunk_no, row.document_id, row.content, opening, tuple(row.heading_path))


def _opening(row: Any) -> DocumentHead:
    return DocumentHead(row.title, row.metadata, row.extracted or ())
