"""Stores entities for the names that documents give: titles, metadata and headings, and links older texts to new ones.

Runs in the transaction that stores the documents, under the user's lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.store.connection.transactions import Writing
from app.store.entities import entities as stored_entities
from app.store.entities import extracted_names, headings, mentions, name_changes
from app.store.entities.headings import HeadingChunk
from app.store.entities.mentions import ChunkText, Mention, NameEntity
from app.text.names import headings as text_headings
from app.text.names import name_probes, names
from app.text.names.name_probes import AllWords
from app.text.names.names import Name
from app.text.names.tags import Tag

MAX_NEW_HEADINGS = 200
"""New headings of a document that are matched in older texts at once: each takes a search of 1 to 70 ms, while the
user's other writes wait. A job matches further ones."""
NAMES = 16
"""Names that are searched for in older texts by one statement."""


@dataclass(frozen=True, slots=True)
class SectionChunk:
    """A chunk in a section: the name of the section's heading and the number of the section's first chunk."""

    name: Name
    section: int
    chunk_no: int


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """The names that a document gives: its title, those in its metadata, and the headings over its chunks."""

    document_id: UUID
    title: Name | None = None
    tags: Sequence[Tag] = ()
    in_sections: Sequence[SectionChunk] = ()

    def headings(self) -> dict[UUID, Name]:
        """The names of its sections by entity."""
        return {one.name.entity_id: one.name for one in self.in_sections}


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


def entity_of(name: Name) -> NameEntity:
    """The entity of a name."""
    return NameEntity(name.entity_id, name.key, name.text)


async def store(db: Writing, documents: Sequence[DocumentNames]) -> None:
    """Store the entities that documents name, and link the older chunks that contain a new title or a new heading.

    New headings of one word are linked where they are capitalised only. Names in metadata are recorded as changes,
    which a job follows, and so are titles and headings that may be in more older chunks than were searched.
    """
    known = await _matched_in_any_case(db, documents)
    titles = {one.title.entity_id: entity_of(one.title) for one in reversed(documents) if one.title is not None}
    await mentions.ensure(db, list(titles.values()), origin="title")
    await _store_tags(db, [tag for one in documents for tag in one.tags])
    sections = {entity: entity_of(name) for one in reversed(documents) for entity, name in one.headings().items()}
    await mentions.ensure(db, list(sections.values()), origin="text")
    rows = [
        HeadingChunk(chunk.name.entity_id, chunk.section, chunk.chunk_no, one.document_id)
        for one in documents
        for chunk in one.in_sections
    ]
    await headings.add(db, rows)
    new, further = _new_names(documents, known)
    further += await _link_older_chunks(db, documents, new)
    await name_changes.record(db, {name.key: name.text for name in further}, automatic=True)


async def _store_tags(db: Writing, found: Sequence[Tag]) -> None:
    """Store the entities that metadata names, and record the new names for other documents."""
    tags: dict[UUID, Tag] = {}
    for tag in found:
        known = tags.get(tag.entity_id)
        if known is None or (tag.type == "person" and known.type != "person"):
            tags[tag.entity_id] = tag
    entities = [NameEntity(entity, tag.key, tag.text, tag.type) for entity, tag in tags.items()]
    new = await mentions.ensure(db, entities, origin="metadata")
    changed = {tag.key: tag.text for entity, tag in tags.items() if entity in new}
    aliases = {(tag.entity_id, key): alias for tag in found for key, alias in tag.aliases.items()}
    changed |= await extracted_names.add_aliases(db, [(*one, alias) for one, alias in aliases.items()])
    roles = {tag.entity_id: (tag.role, role_key) for tag in found if tag.role and (role_key := names.key(tag.role))}
    await extracted_names.add_roles(
        db, {entity: (role, stored_entities.ROLE + key) for entity, (role, key) in roles.items()}
    )
    await name_changes.record(db, changed)


async def _matched_in_any_case(db: Writing, documents: Iterable[DocumentNames]) -> set[UUID]:
    """The entities of titles and headings that are titles or headings already, and so are matched in any case."""
    found = [one.title for one in documents if one.title is not None]
    found += [name for one in documents for name in one.headings().values()]
    if not found:
        return set()
    several_words = [name.entity_id for name in found if text_headings.matches_any_case(name)]
    titles = await mentions.matched(db, [name.entity_id for name in found])
    return titles | await headings.heading_entities(db, several_words)


def _new_names(documents: Sequence[DocumentNames], known: set[UUID]) -> tuple[list[Name], list[Name]]:
    """The titles, and headings of several words, that neither `known` nor an earlier document contains.

    In two lists: those that are matched in older texts at once, and further ones.
    """
    known = set(known)
    new: list[Name] = []
    further: list[Name] = []
    for one in documents:
        if one.title is not None and one.title.entity_id not in known:
            new.append(one.title)
            known.add(one.title.entity_id)
        known.update(tag.entity_id for tag in one.tags)
        several_words = {key: name for key, name in one.headings().items() if text_headings.matches_any_case(name)}
        new_headings = [name for entity, name in several_words.items() if entity not in known]
        new += new_headings[:MAX_NEW_HEADINGS]
        further += new_headings[MAX_NEW_HEADINGS:]
        known.update(several_words)
    return new, further


async def _link_older_chunks(db: Writing, documents: Sequence[DocumentNames], new: Sequence[Name]) -> list[Name]:
    """Store mentions of names in the chunks of other documents that contain them in any case.

    Returns the names that may be in further chunks.
    """
    besides = [one.document_id for one in documents]
    indexed = [(name, name_probes.all_words(name)) for name in new]
    further = [name for name, words in indexed if not words.text.folded]
    dotted = await _dotted_numbers(db, indexed)
    further += [name for name, words in indexed if words.text.folded and not dotted.isdisjoint(words.numbers)]
    indexed = [(name, words) for name, words in indexed if words.text.folded]
    for start in range(0, len(indexed), NAMES):
        some = [name for name, _words in indexed[start : start + NAMES]]
        texts = [words.text for _name, words in indexed[start : start + NAMES]]
        chunks = await mentions.chunks_with_words(db, texts, besides=besides)
        if chunks.found:
            await mentions.add(db, await asyncio.to_thread(_found, some, chunks.found))
        further += [some[place] for place in sorted(chunks.incomplete)]
    return further


async def _dotted_numbers(db: Writing, indexed: Sequence[tuple[Name, AllWords]]) -> set[str]:
    """The numbers in names that texts may contain as parts of numbers with dots."""
    numbers = {number for _name, words in indexed for number in words.numbers}
    return await mentions.dotted_numbers(db, numbers) if numbers else set()


def _found(some: Sequence[Name], chunks: Iterable[tuple[int, ChunkText]]) -> list[Mention]:
    """The mentions of names in the chunks that contain the words of the name at this place."""
    counts = [(some[place], chunk, names.count(some[place].key, chunk.content)) for place, chunk in chunks]
    return [
        Mention(name.entity_id, chunk.chunk_no, chunk.document_id, "text", count)
        for name, chunk, count in counts
        if count
    ]
