"""Stores which entities a document's texts, title, headings and metadata name; relinks all under new rules.

Runs in the transaction that stores the document, under the user's lock. How a name is matched depends on its origin:

- Names that the user or metadata gave are matched in every text, the longest at each position.
- Titles, and headings of several words, are matched in every text in any case.
- Other names are matched where they are capitalised.

A new title or heading is also matched in the texts that were stored before. `backfill` links documents that were stored
by an earlier version.
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
from app.store import headings, jobs, mentions, name_changes, staging
from app.store.db import Database, Reading, Writing
from app.store.headings import HeadingChunk
from app.store.mentions import ChunkText, Mention, NameEntity
from app.text import headings as text_headings
from app.text import lexical, names, tags
from app.text.gazetteer import Gazetteer
from app.text.names import Name
from app.text.tags import Tag

log = logging.getLogger(__name__)

MOST_CHUNKS = 1_000
"""Chunks up to which a document is linked in one transaction; a job links a longer one in slices."""
SLICE = 64
"""Chunks whose names are extracted at once."""
MAX_NEW_HEADINGS = 200
"""New headings of a document that are matched in older texts: each takes a search of 1 to 70 ms, while the user's other
writes wait. Further ones are matched there where they are capitalised, and in all later texts."""
BATCH = 500
"""Documents that the backfill lists at once."""
RETRY_S = 30.0
"""Pause of the background backfill after a failure."""
ACCENTS_FOLDED, ACCENTS_KEPT = "english", "german"


@dataclass(frozen=True, slots=True)
class Matcher:
    """What the chunks of one document are matched with: its title, the user's names, and the keys of metadata."""

    title: Name | None
    gazetteer: Gazetteer
    keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class _ChunkNames:
    """The names in a chunk: capitalised ones, all sequences of words with counts, and entities of the gazetteer."""

    chunk: ChunkText
    capitalised: list[Name]
    sequences: Counter[str]
    entities: Counter[UUID]


@dataclass(frozen=True, slots=True)
class SectionChunk:
    """A chunk in a section: the name of the section's heading and the number of the section's first chunk."""

    name: Name
    section: int
    chunk_no: int


async def link(db: Writing, user_id: str, document_id: UUID, *, keys: Sequence[str]) -> None:
    """Replace the mentions and headings of a document; `keys` are the metadata keys whose values name entities."""
    opening = await mentions.begin(db, user_id, document_id, version=names.VERSION)
    title = names.title_name(opening.title)
    if title is not None:
        await link_title(db, user_id, document_id, title)
    await add_metadata_entities(db, user_id, tags.from_metadata(opening.metadata, keys))
    matcher = Matcher(title, (await gazetteers.uncommitted(db, user_id)).gazetteer, keys)
    chunks = await mentions.chunk_texts(db, user_id, document_id)
    in_sections = await asyncio.to_thread(section_chunks, chunks)
    await link_headings(db, user_id, document_id, [one for one in in_sections if not is_title(one.name, title)])
    for start in range(0, len(chunks), SLICE):
        await link_chunks(db, user_id, chunks[start : start + SLICE], matcher)


async def link_chunks(db: Writing, user_id: str, chunks: Sequence[ChunkText], matcher: Matcher) -> None:
    """Store the mentions in some chunks of one document, and entities for the names in them."""
    extracted = await asyncio.to_thread(_extract, chunks, matcher.gazetteer)
    new = {name.key: _name_entity(name) for one in extracted for name in one.capitalised}
    await mentions.ensure(db, user_id, list(new.values()), origin="text")
    await mentions.add(db, user_id, await _mentions(db, user_id, extracted, matcher))


async def expected(
    db: Reading, user_id: str, document_id: UUID, *, keys: Sequence[str]
) -> tuple[set[Mention], set[HeadingChunk]] | None:
    """The mentions and headings that `link` would store for a document, without writing; None if it has no chunks.

    Only valid if all changes of the user's names have been applied to the stored texts.
    """
    chunks = await mentions.chunk_texts(db, user_id, document_id)
    if not chunks or chunks[0].opening is None:
        return None
    title = names.title_name(chunks[0].opening.title)
    matcher = Matcher(title, (await gazetteers.current(db, user_id)).gazetteer, keys)
    expected_mentions: set[Mention] = set()
    for start in range(0, len(chunks), SLICE):
        extracted = await asyncio.to_thread(_extract, chunks[start : start + SLICE], matcher.gazetteer)
        expected_mentions.update(await _mentions(db, user_id, extracted, matcher))
    in_sections = await asyncio.to_thread(section_chunks, chunks)
    return expected_mentions, {
        HeadingChunk(one.name.entity_id, one.section, one.chunk_no, document_id)
        for one in in_sections
        if not is_title(one.name, title)
    }


async def relink(db: Writing, user_id: str, document_id: UUID, *, keys: Sequence[str]) -> list[UUID]:
    """Replace the mentions and headings of a stored document, under the user's lock.

    Returns the entities that it mentioned before, which the caller prunes.
    """
    await gazetteers.current(db, user_id)
    before = await mentions.of_document(db, user_id, document_id)
    await link(db, user_id, document_id, keys=keys)
    return before


async def backfill(owner: Database, *, keys: Sequence[str], db: Database | None = None) -> int:
    """Link all documents that were not linked by the current rules; returns their number.

    Each document is linked in a transaction of its own, so that it can be interrupted and continued. Documents are
    listed as the database's owner and linked through `db`, by default as the owner too; with `db`, the owner's
    connections are closed in between. Documents that another process replaced, deleted or linked are skipped.
    """
    done = 0
    while True:
        try:
            async with owner.shared() as connection:
                unread = await mentions.unread(connection, version=names.VERSION, limit=BATCH)
        finally:
            if db is not None:
                await owner.close_idle()
        if not unread:
            return done
        for user_id, document_id in unread:
            done += await _backfill_document(db or owner, user_id, document_id, keys)
        log.info("documents linked by the backfill: %d", done, extra={"action": "backfill_progress", "documents": done})


async def _backfill_document(db: Database, user_id: str, document_id: UUID, keys: Sequence[str]) -> bool:
    async with db.writing(user_id) as writing:
        await mentions.lock(writing, user_id)
        if not await mentions.is_unread(writing, user_id, document_id, version=names.VERSION):
            return False
        if await mentions.count_chunks(writing, user_id, document_id) > MOST_CHUNKS:
            await mentions.mark_read(writing, user_id, document_id, version=names.VERSION)
            await jobs.add(writing, user_id, staging.LINK, {"document_id": str(document_id)})
            return True
        before = await relink(writing, user_id, document_id, keys=keys)
        await mentions.prune(writing, user_id, before)
        return True


async def backfill_with_retries(owner: Database, *, keys: Sequence[str], db: Database | None = None) -> None:
    """Run `backfill` until it succeeds, with a pause of RETRY_S after a failure."""
    while True:
        try:
            await backfill(owner, keys=keys, db=db)
            return
        except errors.StepwellError as error:
            log.warning("backfill of mentions postponed: %s", error.code, extra={"action": "backfill_postponed"})
        except Exception:
            log.exception("backfill of mentions failed", extra={"action": "backfill_failed"})
        await asyncio.sleep(RETRY_S)


def text_mentions(chunk: ChunkText, gazetteer: Gazetteer) -> Counter[UUID]:
    """How often a chunk's text contains names of each entity; the first chunk's text includes the document's title."""
    text = f"{chunk.opening.title}\n{chunk.content}" if chunk.opening else chunk.content
    return Counter(entity for match in gazetteer.find(text) for entity in match.entity_ids)


def document_mentions(chunk: ChunkText, gazetteer: Gazetteer, keys: Sequence[str]) -> Iterator[Mention]:
    """Mentions in a document's first chunk of the user's own entities that its metadata or its title names."""
    if chunk.opening is None:
        return
    for tag in tags.from_metadata(chunk.opening.metadata, keys):
        for entity in gazetteer.named(tag.text):
            if entity != tag.entity_id:
                yield Mention(entity, chunk.chunk_no, chunk.document_id, tag.kind, 1)
    in_title = {entity: match.key for match in gazetteer.find(chunk.opening.title) for entity in match.entity_ids}
    for entity, key in in_title.items():
        if entity != names.Name(key, key).entity_id:
            yield Mention(entity, chunk.chunk_no, chunk.document_id, "title", 1)


def is_metadata_entity(key: str, entity_id: UUID, gazetteer: Gazetteer) -> bool:
    """Whether metadata names the entity whose id is derived from the name with this key."""
    return any(entity == entity_id for _name, entity in gazetteer.entries(key))


def tag_mentions(chunk: ChunkText, keys: Sequence[str]) -> Iterator[Mention]:
    """Mentions of the entities that are made from a document's metadata, in its first chunk."""
    if chunk.opening is not None:
        for tag in tags.from_metadata(chunk.opening.metadata, keys):
            yield Mention(tag.entity_id, chunk.chunk_no, chunk.document_id, tag.kind, 1)


def _extract(chunks: Sequence[ChunkText], gazetteer: Gazetteer) -> list[_ChunkNames]:
    return [
        _ChunkNames(chunk, names.find(chunk.content), names.sequences(chunk.content), text_mentions(chunk, gazetteer))
        for chunk in chunks
    ]


def section_chunks(chunks: Sequence[ChunkText]) -> list[SectionChunk]:
    """The sections of each chunk of a document, those with a usable name only."""
    sections = Sections()
    sections.add(chunks)
    return sections.all()


class Sections:
    """The sections of a document, whose chunks are added in their order."""

    def __init__(self) -> None:
        self._first_chunks: dict[tuple[str, ...], int] = {}
        self._found: dict[tuple[str, int, int], SectionChunk] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, chunks: Sequence[ChunkText]) -> None:
        """Add the next chunks."""
        for chunk in chunks:
            for path in text_headings.sections(chunk.heading_path, chunk.content):
                first = self._first_chunks.setdefault(path, chunk.chunk_no)
                name = text_headings.name(path[-1])
                if name is not None:
                    key = (name.key, first, chunk.chunk_no)
                    self._found.setdefault(key, SectionChunk(name, first, chunk.chunk_no))

    def all(self) -> list[SectionChunk]:
        """The chunks in each section, those of sections with a usable name only."""
        return list(self._found.values())


def is_title(name: Name, title: Name | None) -> bool:
    return title is not None and name.key == title.key


async def add_metadata_entities(db: Writing, user_id: str, found: Sequence[Tag]) -> None:
    """Store the entities that metadata names, and record the new names for other documents."""
    entities = [NameEntity(tag.entity_id, tag.key, tag.text, tag.type) for tag in found]
    new = await mentions.ensure(db, user_id, entities, origin="metadata")
    await name_changes.record(db, user_id, {tag.key: tag.text for tag in found if tag.entity_id in new})


async def link_title(db: Writing, user_id: str, document_id: UUID, title: Name) -> None:
    """Store the title as an entity; if it is new, link the older chunks that contain it."""
    known = await _matched_in_any_case(db, user_id, [title])
    await mentions.ensure(db, user_id, [_name_entity(title)], origin="title")
    if not known:
        await _link_older_chunks(db, user_id, document_id, title)


async def link_headings(db: Writing, user_id: str, document_id: UUID, in_sections: Sequence[SectionChunk]) -> None:
    """Store the headings over each chunk; link the older chunks that contain a new heading of several words."""
    if not in_sections:
        return
    by_entity = {one.name.entity_id: one.name for one in in_sections}
    known = await _matched_in_any_case(db, user_id, list(by_entity.values()))
    await mentions.ensure(db, user_id, [_name_entity(name) for name in by_entity.values()], origin="text")
    rows = [HeadingChunk(one.name.entity_id, one.section, one.chunk_no, document_id) for one in in_sections]
    await headings.add(db, user_id, rows)
    new = [
        name for entity_id, name in by_entity.items() if entity_id not in known and text_headings.matches_any_case(name)
    ]
    for name in new[:MAX_NEW_HEADINGS]:
        await _link_older_chunks(db, user_id, document_id, name)


async def _matched_in_any_case(db: Writing, user_id: str, candidates: Sequence[Name]) -> set[UUID]:
    """The entities of these names that are titles or headings already, and so are matched in any case."""
    several_words = [name.entity_id for name in candidates if text_headings.matches_any_case(name)]
    titles = await mentions.matched(db, user_id, [name.entity_id for name in candidates])
    return titles | await headings.heading_entities(db, user_id, several_words)


async def _link_older_chunks(db: Writing, user_id: str, document_id: UUID, name: Name) -> None:
    """Store mentions of a name in the chunks of other documents that contain it in any case."""
    phrase = IndexText(lexical.index_text(name.text, ACCENTS_FOLDED), lexical.index_text(name.text, ACCENTS_KEPT))
    chunks = await mentions.chunks_with_phrase(db, user_id, phrase, besides=document_id)
    counts = [(chunk, names.sequences(chunk.content)[name.key]) for chunk in chunks]
    found = [Mention(name.entity_id, c.chunk_no, c.document_id, "text", count) for c, count in counts if count]
    await mentions.add(db, user_id, found)


async def _mentions(db: Reading, user_id: str, extracted: Sequence[_ChunkNames], matcher: Matcher) -> list[Mention]:
    """All mentions in the chunks, in the order of their keys."""
    any_case = await mentions.known_titles(db, user_id, {key for one in extracted for key in one.sequences})
    found: dict[tuple[UUID, int, str], Mention] = {}
    for one in extracted:
        for mention in _chunk_mentions(one, any_case, matcher):
            found[mention.entity_id, mention.chunk_no, mention.kind] = mention
    return [found[key] for key in sorted(found)]


def _chunk_mentions(one: _ChunkNames, any_case: Mapping[str, Sequence[UUID]], matcher: Matcher) -> Iterator[Mention]:
    """The mentions in one chunk; `any_case` has the entities whose names are matched in any case, by key.

    A later mention of the same entity, chunk and kind replaces an earlier one.
    """
    chunk, gazetteer = one.chunk, matcher.gazetteer
    counts = {n.entity_id: n.count for n in one.capitalised if not is_metadata_entity(n.key, n.entity_id, gazetteer)}
    counts |= {entity: one.sequences[key] for key in any_case.keys() & one.sequences.keys() for entity in any_case[key]}
    counts |= one.entities
    for entity, count in counts.items():
        yield Mention(entity, chunk.chunk_no, chunk.document_id, "text", count)
    if matcher.title is not None:
        yield Mention(matcher.title.entity_id, chunk.chunk_no, chunk.document_id, "title", 1)
    yield from tag_mentions(chunk, matcher.keys)
    yield from document_mentions(chunk, gazetteer, matcher.keys)


def _name_entity(name: Name) -> NameEntity:
    return NameEntity(name.entity_id, name.key, name.text)
