"""Stores the mentions of entities in documents.

Runs in the transaction that stores the document, under the user's lock. How a name is matched depends on its origin:

- Names that the user or metadata gave are matched in every text, the longest at each position.
- Titles, and headings of several words, are matched in every text in any case.
- Other names are matched where they are capitalised.

A new title or heading is also matched in the texts that were stored before.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from app.pipelines.linking import gazetteers, name_links
from app.pipelines.linking.name_links import DocumentNames, is_title
from app.store.connection.transactions import Reading, Writing
from app.store.documents.document_puts import PutDocument
from app.store.entities import mentions
from app.store.entities.headings import HeadingChunk
from app.store.entities.mentions import ChunkText, DocumentHead, LinkedNames, Mention, NameEntity
from app.text.names import names, tags
from app.text.names.gazetteer import Gazetteer, NameMatch
from app.text.names.names import Name
from app.text.names.tags import Tag

SLICE = 128
"""Chunks whose names are extracted at once."""
Excluded = frozenset[tuple[str, UUID]]
"""Keys of names with the entities that one document does not mean by them."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """What the chunks of one document are matched with: its title, the user's names, and the keys of metadata.

    `excluded` are the namesakes that the document does not mean.
    """

    title: Name | None
    gazetteer: Gazetteer
    keys: Sequence[str]
    excluded: Excluded

    @classmethod
    def of(cls, head: DocumentHead, gazetteer: Gazetteer, keys: Sequence[str]) -> Self:
        """What the chunks of the document with this head are matched with."""
        return cls(names.title_name(head.title), gazetteer, keys, excluded(head.metadata, gazetteer, keys))


@dataclass(frozen=True, slots=True)
class _ChunkNames:
    """The names in a chunk: capitalised ones, its words, and entities of the gazetteer."""

    chunk: ChunkText
    matcher: Matcher
    capitalised: list[Name]
    words: Sequence[str]
    entities: Counter[UUID]


@dataclass(frozen=True, slots=True)
class DocumentToLink:
    """A document that is linked to the entities that it names: its title and metadata, and its chunks in order."""

    document_id: UUID
    head: DocumentHead
    chunks: Sequence[ChunkText]

    def placed(self, gazetteer: Gazetteer, keys: Sequence[str]) -> list[tuple[ChunkText, Matcher]]:
        """Its chunks with what they are matched with."""
        matcher = Matcher.of(self.head, gazetteer, keys)
        return [(chunk, matcher) for chunk in self.chunks]


def put_document(put: PutDocument) -> DocumentToLink:
    """A document that was stored in this transaction, as it is linked."""
    head = DocumentHead(put.draft.title, put.draft.metadata)
    chunks = []
    for index, chunk in enumerate(put.draft.chunks):
        opening, path = None if index else head, tuple(chunk.passage.heading_path)
        chunks.append(ChunkText(put.first_no + index, put.document_id, chunk.passage.content, opening, path))
    return DocumentToLink(put.document_id, head, chunks)


async def stored_document(db: Writing, document_id: UUID) -> DocumentToLink:
    """A stored document as it is linked; deletes its mentions and headings."""
    head = await mentions.begin(db, document_id, version=names.VERSION)
    return DocumentToLink(document_id, head, await mentions.chunk_texts(db, document_id))


async def link(db: Writing, document_id: UUID, *, keys: Sequence[str]) -> None:
    """Replace the mentions and headings of a document; `keys` are the metadata keys whose values name entities."""
    await link_all(db, [await stored_document(db, document_id)], keys=keys)


async def link_all(db: Writing, documents: Sequence[DocumentToLink], *, keys: Sequence[str]) -> None:
    """Store the mentions and headings of documents that have none."""
    await name_links.store(db, await asyncio.to_thread(_names_of, documents, keys))
    gazetteer = (await gazetteers.uncommitted(db)).gazetteer
    placed = [chunk for one in documents for chunk in one.placed(gazetteer, keys)]
    for start in range(0, len(placed), SLICE):
        await link_chunks(db, placed[start : start + SLICE])


def _names_of(documents: Sequence[DocumentToLink], keys: Sequence[str]) -> list[DocumentNames]:
    found = []
    for one in documents:
        title = names.title_name(one.head.title)
        sections = [chunk for chunk in name_links.section_chunks(one.chunks) if not is_title(chunk.name, title)]
        found.append(DocumentNames(one.document_id, title, _tags(one.head, keys), sections))
    return found


def _tags(head: DocumentHead, keys: Sequence[str]) -> list[Tag]:
    return tags.of_document(head.metadata, head.extracted, keys)


async def link_chunks(db: Writing, placed: Sequence[tuple[ChunkText, Matcher]]) -> None:
    """Store the mentions in chunks, each with what it is matched with, and entities for the names in them.

    Of several spellings of a new name, that of the first document is stored.
    """
    extracted = await asyncio.to_thread(_extract, placed)
    new: dict[UUID, dict[str, NameEntity]] = {}
    for one in extracted:
        of_document = new.setdefault(one.chunk.document_id, {})
        of_document |= {name.key: name_links.entity_of(name) for name in one.capitalised}
    spelt = {key: entity for of_document in reversed(new.values()) for key, entity in of_document.items()}
    await mentions.ensure(db, list(spelt.values()), origin="text")
    await mentions.add(db, await _mentions(db, extracted))


async def expected(
    db: Reading, document_id: UUID, *, keys: Sequence[str]
) -> tuple[set[Mention], set[HeadingChunk]] | None:
    """The mentions and headings that `link` would store for a document, without writing; None if it has no chunks.

    Only valid if all changes of the user's names have been applied to the stored texts.
    """
    chunks = await mentions.chunk_texts(db, document_id)
    if not chunks or chunks[0].opening is None:
        return None
    matcher = Matcher.of(chunks[0].opening, (await gazetteers.current(db)).gazetteer, keys)
    expected_mentions: set[Mention] = set()
    for start in range(0, len(chunks), SLICE):
        extracted = await asyncio.to_thread(_extract, [(chunk, matcher) for chunk in chunks[start : start + SLICE]])
        expected_mentions.update(await _mentions(db, extracted))
    in_sections = await asyncio.to_thread(name_links.section_chunks, chunks)
    return expected_mentions, {
        HeadingChunk(one.name.entity_id, one.section, one.chunk_no, document_id)
        for one in in_sections
        if not is_title(one.name, matcher.title)
    }


async def relink(db: Writing, document_id: UUID, *, keys: Sequence[str]) -> LinkedNames:
    """Replace the mentions and headings of a stored document, under the user's lock.

    Returns the names that were in it before, which the caller prunes.
    """
    await gazetteers.current(db)
    before = await mentions.of_documents(db, [document_id])
    await link(db, document_id, keys=keys)
    return before


def excluded(metadata: Mapping[str, Any], gazetteer: Gazetteer, keys: Sequence[str]) -> Excluded:
    """The entities that a document does not mean by a name, each with the name's key.

    Metadata that gives the `entity_id` of somebody beside the name means none of the other entities of the name.
    """
    found: set[tuple[str, UUID]] = set()
    for tag in tags.from_metadata(metadata, keys) if tags.has_ids(metadata) else ():
        named = set(gazetteer.named(tag.text)) if tag.meant else set()
        if named & tag.meant:
            found |= {(tag.key, entity) for entity in named - tag.meant - {tag.entity_id}}
    return frozenset(found)


def text_mentions(chunk: ChunkText, gazetteer: Gazetteer, without: Excluded = frozenset()) -> Counter[UUID]:
    """How often a chunk's text contains names of each entity; the first chunk's text includes the document's title.

    `without` are the namesakes that the document does not mean.
    """
    text = f"{chunk.opening.title}\n{chunk.content}" if chunk.opening else chunk.content
    return Counter(entity for match in gazetteer.find(text) for entity in _meant(match, without))


def _meant(match: NameMatch, without: Excluded) -> Iterable[UUID]:
    """The entities of a name that a document means."""
    if not without:
        return match.entity_ids
    found = (match.key, *match.others)
    return [entity for entity in match.entity_ids if not any((key, entity) in without for key in found)]


def document_mentions(chunk: ChunkText, gazetteer: Gazetteer, keys: Sequence[str]) -> Iterator[Mention]:
    """Mentions in a document's first chunk of the user's own entities that its metadata or its title names."""
    if chunk.opening is None:
        return
    without = excluded(chunk.opening.metadata, gazetteer, keys)
    for tag in _tags(chunk.opening, keys):
        for entity in gazetteer.named(tag.text):
            if entity != tag.entity_id and (tag.key, entity) not in without:
                yield Mention(entity, chunk.chunk_no, chunk.document_id, tag.kind, 1)
    found = gazetteer.find(chunk.opening.title)
    in_title = {entity: match.key for match in found for entity in _meant(match, without)}
    for entity, key in in_title.items():
        if entity != names.Name(key, key).entity_id:
            yield Mention(entity, chunk.chunk_no, chunk.document_id, "title", 1)


def is_metadata_entity(key: str, entity_id: UUID, gazetteer: Gazetteer) -> bool:
    """Whether metadata names the entity whose id is derived from the name with this key."""
    return any(entity == entity_id for _name, entity in gazetteer.entries(key))


def tag_mentions(chunk: ChunkText, keys: Sequence[str]) -> Iterator[Mention]:
    """Mentions of the entities that are made from a document's metadata, in its first chunk."""
    if chunk.opening is not None:
        for tag in _tags(chunk.opening, keys):
            yield Mention(tag.entity_id, chunk.chunk_no, chunk.document_id, tag.kind, 1)


def _extract(placed: Sequence[tuple[ChunkText, Matcher]]) -> list[_ChunkNames]:
    return [
        _ChunkNames(
            chunk,
            matcher,
            names.find(chunk.content),
            names.words(chunk.content),
            text_mentions(chunk, matcher.gazetteer, matcher.excluded),
        )
        for chunk, matcher in placed
    ]


async def _mentions(db: Reading, extracted: Sequence[_ChunkNames]) -> list[Mention]:
    """All mentions in the chunks, in the order of their keys."""
    known = await mentions.known_openings(db, *names.openings(one.words for one in extracted))
    sequences = [names.sequences_after(known, one.words) for one in extracted]
    any_case = await mentions.known_titles(db, {key for counts in sequences for key in counts})
    found: dict[tuple[UUID, int, str], Mention] = {}
    for one, counts in zip(extracted, sequences, strict=True):
        in_any_case = {entity: counts[key] for key in any_case.keys() & counts.keys() for entity in any_case[key]}
        for mention in _chunk_mentions(one, in_any_case):
            found[mention.entity_id, mention.chunk_no, mention.kind] = mention
    return [found[key] for key in sorted(found, key=lambda key: (key[0].int, *key[1:]))]


def _chunk_mentions(one: _ChunkNames, in_any_case: Mapping[UUID, int]) -> Iterator[Mention]:
    """The mentions in one chunk; `in_any_case` counts the entities whose names were matched in any case.

    A later mention of the same entity, chunk and kind replaces an earlier one.
    """
    chunk, matcher, gazetteer = one.chunk, one.matcher, one.matcher.gazetteer
    found = ((name.entity_id, name) for name in one.capitalised)
    counts = {entity: name.count for entity, name in found if not is_metadata_entity(name.key, entity, gazetteer)}
    counts |= in_any_case
    counts |= one.entities
    for entity, count in counts.items():
        yield Mention(entity, chunk.chunk_no, chunk.document_id, "text", count)
    if matcher.title is not None:
        yield Mention(matcher.title.entity_id, chunk.chunk_no, chunk.document_id, "title", 1)
    yield from tag_mentions(chunk, matcher.keys)
    yield from document_mentions(chunk, gazetteer, matcher.keys)
