"""Finds and stores the mentions of entities in chunks, under the user's lock.

How a name is matched depends on its origin:

- Names from the user or from metadata are matched in every text, the longest at each position.
- Titles, and headings of several words, are matched where a text writes them as names, even inside longer names.
- Other names are matched where they are capitalised.

As soon as the text of another document mentions a title, the title has the origin `title` and is listed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from app.database.transactions import Reading, Writing
from app.entities.linking import entities_from_documents, gazetteer_cache
from app.entities.linking.entities_from_documents import DocumentNames
from app.entities.store import mentions, titles_and_headings
from app.entities.store.mentions import ChunkText, DocumentHead, LinkedNames, Mention
from app.text.names import metadata_names, names
from app.text.names.gazetteer import Gazetteer, NameMatch
from app.text.names.names import Name, WrittenWords

SLICE = 128
"""Number of chunks whose names are extracted at once."""
Excluded = frozenset[tuple[str, UUID]]
"""Pairs of a name's key and an entity with the name that a document does not mean by it."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """Matches the chunks of one document: with its title, the user's names, and the keys of metadata.

    `excluded` has the namesakes that the document does not mean.
    """

    title: Name | None
    gazetteer: Gazetteer
    keys: Sequence[str]
    excluded: Excluded

    @classmethod
    def of(cls, head: DocumentHead, gazetteer: Gazetteer, keys: Sequence[str]) -> Self:
        """The matcher for the chunks of the document with this head."""
        return cls(names.title_name(head.title), gazetteer, keys, _exclude(head.metadata, gazetteer, keys))


Placed = tuple[ChunkText, Matcher]
"""A chunk with its matcher."""


@dataclass(frozen=True, slots=True)
class _ChunkNames:
    """The names in a chunk: capitalised names, the words as written, and entities of the gazetteer."""

    chunk: ChunkText
    matcher: Matcher
    capitalised: list[Name]
    written: WrittenWords
    entities: Counter[UUID]


@dataclass(frozen=True, slots=True)
class DocumentToLink:
    """A document to link to the entities that it names: its title and metadata, and its chunks in order."""

    document_id: UUID
    head: DocumentHead
    chunks: Sequence[ChunkText]


async def stored_document(db: Writing, document_id: UUID) -> DocumentToLink:
    """Reads a stored document in order to link it, and deletes its mentions and headings."""
    head = await mentions.reset(db, document_id, version=names.VERSION)
    return DocumentToLink(document_id, head, await mentions.chunk_texts(db, document_id))


async def link_all(
    db: Writing, documents: Sequence[DocumentToLink], replaced: LinkedNames, *, keys: Sequence[str]
) -> None:
    """Store the mentions and headings of documents that have none; `keys` are the metadata keys that name entities.

    `replaced` has the names in the former versions of the documents.
    """
    await entities_from_documents.store(db, await asyncio.to_thread(_names_of, documents, keys), before=replaced)
    gazetteer = (await gazetteer_cache.uncommitted(db)).gazetteer
    placed: list[Placed] = []
    for one in documents:
        matcher = Matcher.of(one.head, gazetteer, keys)
        placed += [(chunk, matcher) for chunk in one.chunks]
    # The texts are searched for titles that have mentions.
    await mentions.add(db, _titles(placed))
    for start in range(0, len(placed), SLICE):
        extracted = await asyncio.to_thread(_extract, placed[start : start + SLICE])
        await mentions.ensure(db, _spelt(extracted), origin="text")
        found = await _mentions(db, extracted)
        await mentions.add(db, found)
        if used := _of_names(found):
            await titles_and_headings.use_titles(db, used)
    await mentions.prune(db, replaced)


def _titles(placed: Sequence[Placed]) -> list[Mention]:
    """The mentions of the titles of documents, one in each chunk."""
    return [
        Mention(matcher.title.entity_id, chunk.chunk_no, chunk.document_id, "title", 1)
        for chunk, matcher in placed
        if matcher.title is not None
    ]


def _names_of(documents: Sequence[DocumentToLink], keys: Sequence[str]) -> list[DocumentNames]:
    found = []
    for one in documents:
        title = names.title_name(one.head.title)
        found.append(
            DocumentNames(title, _tags(one.head, keys), entities_from_documents.section_chunks(one.chunks, title))
        )
    return found


def _tags(head: DocumentHead, keys: Sequence[str]) -> list[metadata_names.Tag]:
    if not head.metadata and not head.extracted:
        return []
    return metadata_names.of_document(names.title_name(head.title), head.metadata, head.extracted, keys)


async def relink_chunks(
    db: Writing, chunk_nos: Sequence[int], *, keys: Sequence[str], version: int | None = None
) -> None:
    """Replace the mentions in chunks, as if the chunks were stored now. Deleted chunks are skipped.

    So are, with the `version` of the rules, those of documents that are left to a job: their names may not be stored.
    """
    gazetteer = (await gazetteer_cache.current(db)).gazetteer
    found = await mentions.chunk_texts_of(db, chunk_nos)
    heads = await mentions.heads(db, {chunk.document_id for chunk in found}, version=version)
    chunks = [chunk for chunk in found if chunk.document_id in heads]
    matchers = {document: Matcher.of(head, gazetteer, keys) for document, head in heads.items()}
    placed = [(chunk, matchers[chunk.document_id]) for chunk in chunks]
    await mentions.add(db, _titles(placed))
    extracted = await asyncio.to_thread(_extract, placed)
    wanted = await _mentions(db, extracted)
    stored = await mentions.of_chunks(db, [chunk.chunk_no for chunk in chunks])
    new = [mention for mention in wanted if mention not in stored]
    mentioned = {mention.entity_id for mention in new}
    await mentions.ensure(db, [name for name in _spelt(extracted) if name.entity_id in mentioned], origin="text")
    old = sorted(stored.difference(wanted), key=_place)
    await mentions.replace(db, old=old, new=new)
    await titles_and_headings.use_titles(db, _of_names(wanted))
    await mentions.prune(db, LinkedNames(frozenset(mention.entity_id for mention in old)))


def _spelt(extracted: Sequence[_ChunkNames]) -> list[Name]:
    """The capitalised names in chunks, by key. Of several spellings, the first document's one is stored."""
    new: dict[UUID, dict[str, Name]] = {}
    for one in extracted:
        new.setdefault(one.chunk.document_id, {}).update((name.key, name) for name in one.capitalised)
    return list({key: name for found in reversed(new.values()) for key, name in found.items()}.values())


async def compute_expected(
    db: Reading, document_id: UUID, *, keys: Sequence[str]
) -> tuple[set[Mention], set[titles_and_headings.HeadingChunk]] | None:
    """The mentions and headings that `link_all` would store for a document; None without chunks. Writes nothing."""
    chunks = await mentions.chunk_texts(db, document_id)
    if not chunks or chunks[0].opening is None:
        return None
    matcher = Matcher.of(chunks[0].opening, (await gazetteer_cache.current(db)).gazetteer, keys)
    found: set[Mention] = set()
    for start in range(0, len(chunks), SLICE):
        extracted = await asyncio.to_thread(_extract, [(chunk, matcher) for chunk in chunks[start : start + SLICE]])
        found.update(await _mentions(db, extracted))
    sections = await asyncio.to_thread(entities_from_documents.section_chunks, chunks, matcher.title)
    return found, set(sections)


async def relink(db: Writing, document_id: UUID, *, keys: Sequence[str]) -> None:
    """Replace the mentions and headings of a stored document, under the user's lock."""
    await gazetteer_cache.current(db)
    before = await mentions.of_documents(db, [document_id])
    await link_all(db, [await stored_document(db, document_id)], before, keys=keys)


def _exclude(metadata: Mapping[str, Any], gazetteer: Gazetteer, keys: Sequence[str]) -> Excluded:
    """The entities that a document does not mean by a name, each with the name's key.

    If metadata has an `entity_id` beside a name, it means that entity and no other entity with the name.
    """
    found: set[tuple[str, UUID]] = set()
    for tag in metadata_names.from_metadata(metadata, keys):
        named = set(gazetteer.match_whole(tag.text)) if tag.meant else set()
        if named & tag.meant:
            found |= {(tag.key, entity) for entity in named - tag.meant - {tag.entity_id}}
    return frozenset(found)


def _text_mentions(chunk: ChunkText, matcher: Matcher) -> Counter[UUID]:
    """How often a chunk's text contains names of each entity.

    The title counts as text of the first chunk, except for entities for which it is a mention of kind `title`.
    """
    counts = _count(chunk.content, matcher)
    if chunk.opening is not None:
        titled = {mention.entity_id for mention in _title_mentions(chunk, matcher)}
        in_title = _count(chunk.opening.title, matcher)
        counts += Counter({entity: count for entity, count in in_title.items() if entity not in titled})
    return counts


def _count(text: str, matcher: Matcher) -> Counter[UUID]:
    return Counter(entity for match in matcher.gazetteer.find(text) for entity in _meant(match, matcher.excluded))


def _meant(match: NameMatch, without: Excluded) -> Iterable[UUID]:
    """The entities of a name that a document means."""
    if not without:
        return match.entity_ids
    found = (match.key, *match.others)
    return [entity for entity in match.entity_ids if not any((key, entity) in without for key in found)]


def _title_mentions(chunk: ChunkText, matcher: Matcher) -> Iterator[Mention]:
    """The mentions by title in a chunk: the title itself, and in the first chunk the user's entities in the title."""
    yield from _titles([(chunk, matcher)])
    if chunk.opening is not None:
        found = matcher.gazetteer.find(chunk.opening.title)
        in_title = {entity: match.key for match in found for entity in _meant(match, matcher.excluded)}
        for entity, key in in_title.items():
            if entity != names.Name(key, key).entity_id:
                yield Mention(entity, chunk.chunk_no, chunk.document_id, "title", 1)


def _of_names(found: Iterable[Mention]) -> set[UUID]:
    """The entities that texts mention or that are titles."""
    return {mention.entity_id for mention in found if mention.kind in ("text", "title")}


def _extract(placed: Sequence[Placed]) -> list[_ChunkNames]:
    return [
        _ChunkNames(c, matcher, names.find(c.content), WrittenWords(c.content), _text_mentions(c, matcher))
        for c, matcher in placed
    ]


async def _mentions(db: Reading, extracted: Sequence[_ChunkNames]) -> list[Mention]:
    """All mentions in the chunks, in the order of their keys."""
    openings = [one.written.openings() for one in extracted]
    known = await mentions.known_openings(
        db, set().union(*(o[0] for o in openings)), set().union(*(o[1] for o in openings))
    )
    sequences = [one.written.sequences_after(known) for one in extracted]
    given = await mentions.given_names(db, {key for counts in sequences for key in counts})
    found: dict[tuple[UUID, int, str], Mention] = {}
    for one, counts in zip(extracted, sequences, strict=True):
        as_given = {entity: counts[key] for key in given.keys() & counts.keys() for entity in given[key]}
        for mention in _chunk_mentions(one, as_given):
            found[mention.entity_id, mention.chunk_no, mention.kind] = mention
    return sorted(found.values(), key=_place)


def _place(mention: Mention) -> tuple[int, int, str]:
    """The sort key for writing mentions."""
    return mention.entity_id.int, mention.chunk_no, mention.kind


def _chunk_mentions(one: _ChunkNames, as_given: Mapping[UUID, int]) -> Iterator[Mention]:
    """The mentions in one chunk; `as_given` counts the entities of titles and headings.

    A later mention of the same entity, chunk and kind replaces an earlier one.
    """
    chunk, matcher, gazetteer = one.chunk, one.matcher, one.matcher.gazetteer
    counts: dict[UUID, int] = {}
    for name in one.capitalised:
        derived = name.entity_id
        # If the gazetteer has an entity with such an id, metadata names that entity.
        if all(entity != derived for _text, entity in gazetteer.entries(name.key)):
            counts[derived] = name.count
    counts |= as_given
    counts |= one.entities
    for entity, count in counts.items():
        yield Mention(entity, chunk.chunk_no, chunk.document_id, "text", count)
    for tag in _tags(chunk.opening, matcher.keys) if chunk.opening is not None else ():
        own = [entity for entity in gazetteer.match_whole(tag.text) if (tag.key, entity) not in matcher.excluded]
        for entity in (tag.entity_id, *own):
            yield Mention(entity, chunk.chunk_no, chunk.document_id, tag.kind, 1)
    yield from _title_mentions(chunk, matcher)
