"""Links a stored document to the entities it names, and other documents to its title and headings.

Runs in the transaction that stores the document, under the user's lock. Names that a user or metadata gave are looked
for in every text, the longest at each place; titles, and headings of several words, in every spelling of case; other
names where they are written large. Documents that were stored before, or read by older rules, are read by `backfill`,
one transaction each, so that it can be interrupted and goes on where it was, beside a service that answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app import errors
from app.pipelines import gazetteers
from app.shapes import IndexText
from app.store import headings, mentions, name_changes
from app.store.db import Database, Reading, Writing
from app.store.headings import HeadingChunk
from app.store.mentions import ChunkText, Mention, NameEntity
from app.text import headings as sections
from app.text import lexical, names, tags
from app.text.gazetteer import Gazetteer
from app.text.names import Name
from app.text.tags import Tag

log = logging.getLogger(__name__)

SLICE = 64
"""Chunks that are read at once."""
LOOKED_BACK = 200
"""New headings of a document that are looked for in any case in older texts: a search for each, 1 to 70 ms, while the
user's other writes wait. Further ones are found there where they are written large, and in all later texts."""
BATCH = 500
"""Documents that the backfill takes up at once."""
RETRY_S = 30.0
"""How long a backfill beside the service waits after a failure."""
FOLDING, KEEPING = "english", "german"


@dataclass(frozen=True, slots=True)
class _ChunkNames:
    """What stands in a chunk: names written large, every sequence of words, and names that are looked for."""

    place: ChunkText
    large: list[Name]
    sequences: Counter[str]
    told: Counter[UUID]


async def link(db: Writing, user_id: str, document_id: UUID, *, keys: Sequence[str]) -> None:
    """Store the names in a document's chunks, its title, and what its metadata names under `keys`, as mentions."""
    opening = await mentions.begin(db, user_id, document_id, version=names.VERSION)
    title = names.title_name(opening.title)
    if title is not None:
        await _link_title(db, user_id, document_id, title)
    await _name_tags(db, user_id, tags.from_metadata(opening.metadata, keys))
    known = (await gazetteers.uncommitted(db, user_id)).gazetteer
    whole = await mentions.chunk_texts(db, user_id, document_id)
    await _link_headings(db, user_id, document_id, title, await asyncio.to_thread(_sections, whole))
    for start in range(0, len(whole), SLICE):
        places = whole[start : start + SLICE]
        read = await asyncio.to_thread(_read, places, known)
        await _link_slice(db, user_id, read, title, known, keys)


async def expected(
    db: Reading, user_id: str, document_id: UUID, *, keys: Sequence[str]
) -> tuple[set[Mention], set[HeadingChunk]] | None:
    """The mentions and headings that `link` would store for a document now; None if it has no chunks. Writes nothing.

    Not for a user whose names have changed since the stored texts were linked.
    """
    whole = await mentions.chunk_texts(db, user_id, document_id)
    if not whole or whole[0].opening is None:
        return None
    title = names.title_name(whole[0].opening.title)
    known = (await gazetteers.current(db, user_id)).gazetteer
    found: set[Mention] = set()
    for start in range(0, len(whole), SLICE):
        read = await asyncio.to_thread(_read, whole[start : start + SLICE], known)
        titles = await mentions.known_titles(db, user_id, {key for one in read for key in one.sequences})
        found.update(_mentioned(read, titles, title, known, keys))
    standing = await asyncio.to_thread(_sections, whole)
    return found, {
        HeadingChunk(name.entity_id, section, chunk, document_id)
        for name, section, chunk in standing
        if title is None or name.key != title.key
    }


async def relink(db: Writing, user_id: str, document_id: UUID, *, keys: Sequence[str]) -> list[UUID]:
    """Replace the mentions and headings of a stored document. Under the user's lock.

    Returns the entities that it mentioned before, which the caller prunes.
    """
    await gazetteers.current(db, user_id)
    before = await mentions.of_document(db, user_id, document_id)
    await link(db, user_id, document_id, keys=keys)
    return before


async def backfill(owner: Database, *, keys: Sequence[str], db: Database | None = None) -> int:
    """Read the names of all documents that lack them; returns how many were read.

    The documents are listed as the database's owner and read through `db`, by default as the owner too. With `db`, no
    session of the owner stays open. What is replaced, deleted or read by somebody else meanwhile is left alone.
    """
    done = 0
    while True:
        try:
            async with owner.shared() as connection:
                unread = await mentions.unread(connection, version=names.VERSION, limit=BATCH)
        finally:
            if db is not None:
                await owner.close()
        if not unread:
            return done
        for user_id, document_id in unread:
            done += await _read_again(db or owner, user_id, document_id, keys)
        log.info("names read", extra={"action": "names_read", "documents": done})


async def _read_again(db: Database, user_id: str, document_id: UUID, keys: Sequence[str]) -> bool:
    async with db.writing(user_id) as writing:
        await mentions.lock(writing, user_id)
        if not await mentions.is_unread(writing, user_id, document_id, version=names.VERSION):
            return False
        before = await relink(writing, user_id, document_id, keys=keys)
        await mentions.prune(writing, user_id, before)
        return True


async def catch_up(owner: Database, *, keys: Sequence[str], db: Database | None = None) -> None:
    """Do `backfill` while the service answers, again after a failure."""
    while True:
        try:
            await backfill(owner, keys=keys, db=db)
            return
        except errors.StepwellError as error:
            log.warning("reading names waits: %s", error.code, extra={"action": "names_wait"})
        except Exception:
            log.exception("reading names failed", extra={"action": "names_failed"})
        await asyncio.sleep(RETRY_S)


def text_mentions(place: ChunkText, known: Gazetteer) -> Counter[UUID]:
    """How often a chunk's text names each entity that is looked for; a document's title counts for its first chunk."""
    text = f"{place.opening.title}\n{place.content}" if place.opening else place.content
    return Counter(entity for found in known.find(text) for entity in found.entity_ids)


def document_mentions(place: ChunkText, known: Gazetteer, keys: Sequence[str]) -> Iterator[Mention]:
    """The user's own entities that a document names in its metadata or its title, as mentions in its first chunk."""
    if place.opening is None:
        return
    for tag in tags.from_metadata(place.opening.metadata, keys):
        for entity in known.named(tag.text):
            if entity != tag.entity_id:
                yield Mention(entity, place.chunk_no, place.document_id, tag.kind, 1)
    titled = {e: found.key for found in known.find(place.opening.title) for e in found.entity_ids}
    for entity, name in titled.items():
        if entity != names.Name(name, name).entity_id:
            yield Mention(entity, place.chunk_no, place.document_id, "title", 1)


def _tagged(place: ChunkText, keys: Sequence[str]) -> Iterator[Mention]:
    if place.opening is not None:
        for tag in tags.from_metadata(place.opening.metadata, keys):
            yield Mention(tag.entity_id, place.chunk_no, place.document_id, tag.kind, 1)


def is_metadata_entity(name: str, entity_id: UUID, known: Gazetteer) -> bool:
    """Whether the entity that a name (its key) alone makes is one that metadata names."""
    return any(entity == entity_id for _name, entity in known.entries(name))


def _read(places: Sequence[ChunkText], known: Gazetteer) -> list[_ChunkNames]:
    return [
        _ChunkNames(place, names.find(place.content), names.sequences(place.content), text_mentions(place, known))
        for place in places
    ]


def _sections(places: Sequence[ChunkText]) -> list[tuple[Name, int, int]]:
    """The names of the sections in which a document's chunks stand: name, number of the first chunk, of the chunk."""
    begun: dict[tuple[str, ...], int] = {}
    found: dict[tuple[str, int, int], Name] = {}
    for place in places:
        for path in sections.sections(place.heading_path, place.content):
            first = begun.setdefault(path, place.chunk_no)
            name = sections.name(path[-1])
            if name is not None:
                found.setdefault((name.key, first, place.chunk_no), name)
    return [(name, first, chunk) for (_key, first, chunk), name in found.items()]


async def _name_tags(db: Writing, user_id: str, tagged: Sequence[Tag]) -> None:
    """Make what metadata names entities that are looked for."""
    given = [NameEntity(tag.entity_id, tag.key, tag.text, tag.type) for tag in tagged]
    new = await mentions.ensure(db, user_id, given, origin="metadata")
    await name_changes.record(db, user_id, {tag.key: tag.text for tag in tagged if tag.entity_id in new})


async def _link_title(db: Writing, user_id: str, document_id: UUID, title: Name) -> None:
    """Make the title a name that is matched everywhere, and link the chunks that held it before."""
    known = await _looked_for(db, user_id, [title])
    await mentions.ensure(db, user_id, [_named(title)], origin="title")
    if not known:
        await _link_back(db, user_id, document_id, title)


async def _link_headings(
    db: Writing, user_id: str, document_id: UUID, title: Name | None, standing: Sequence[tuple[Name, int, int]]
) -> None:
    """Note in which sections the chunks stand, and link the chunks that held a new name of several words before."""
    named = {name.entity_id: name for name, _section, _chunk in standing if title is None or name.key != title.key}
    if not named:
        return
    known = await _looked_for(db, user_id, list(named.values()))
    await mentions.ensure(db, user_id, [_named(name) for name in named.values()], origin="text")
    rows = [
        HeadingChunk(n.entity_id, section, chunk, document_id) for n, section, chunk in standing if n.entity_id in named
    ]
    await headings.add(db, user_id, rows)
    new = [name for entity_id, name in named.items() if entity_id not in known and sections.matches_any_case(name)]
    for name in new[:LOOKED_BACK]:
        await _link_back(db, user_id, document_id, name)


async def _looked_for(db: Writing, user_id: str, named: Sequence[Name]) -> set[UUID]:
    """Those of the entities that these names alone make which texts mention in any case already."""
    several = [name.entity_id for name in named if sections.matches_any_case(name)]
    titles = await mentions.matched(db, user_id, [name.entity_id for name in named])
    return titles | await headings.heading_entities(db, user_id, several)


async def _link_back(db: Writing, user_id: str, document_id: UUID, name: Name) -> None:
    """Link the chunks of other documents that held the name before it was looked for in any case."""
    phrase = IndexText(lexical.index_text(name.text, FOLDING), lexical.index_text(name.text, KEEPING))
    places = await mentions.chunks_with_phrase(db, user_id, phrase, besides=document_id)
    counts = [(place, names.sequences(place.content)[name.key]) for place in places]
    found = [Mention(name.entity_id, p.chunk_no, p.document_id, "text", count) for p, count in counts if count]
    await mentions.add(db, user_id, found)


async def _link_slice(
    db: Writing, user_id: str, read: Sequence[_ChunkNames], title: Name | None, known: Gazetteer, keys: Sequence[str]
) -> None:
    distinct = {name.key: _named(name) for one in read for name in one.large}
    await mentions.ensure(db, user_id, list(distinct.values()), origin="text")
    titles = await mentions.known_titles(db, user_id, {key for one in read for key in one.sequences})
    await mentions.add(db, user_id, _mentioned(read, titles, title, known, keys))


def _mentioned(
    read: Sequence[_ChunkNames],
    titles: Mapping[str, Sequence[UUID]],
    title: Name | None,
    known: Gazetteer,
    keys: Sequence[str],
) -> list[Mention]:
    """The mentions in chunks; `titles` are the names among their sequences of words that are matched in any case."""
    found: dict[tuple[UUID, int, str], Mention] = {}
    for one in read:
        place = one.place
        counts = {n.entity_id: n.count for n in one.large if not is_metadata_entity(n.key, n.entity_id, known)}
        counts |= {e: one.sequences[key] for key in titles.keys() & one.sequences.keys() for e in titles[key]}
        counts |= one.told
        kinds = [(entity, "text", count) for entity, count in counts.items()]
        kinds += [(title.entity_id, "title", 1)] if title else []
        new = [Mention(entity, place.chunk_no, place.document_id, kind, count) for entity, kind, count in kinds]
        for mention in (*new, *_tagged(place, keys), *document_mentions(place, known, keys)):
            found[mention.entity_id, mention.chunk_no, mention.kind] = mention
    return [found[key] for key in sorted(found)]


def _named(name: Name) -> NameEntity:
    return NameEntity(name.entity_id, name.key, name.text)
