"""Stores entities for the names that documents give: titles, metadata and headings.

Runs in the transaction that stores the documents, under the user's lock. A job links the older texts to new names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.database.transactions import Writing
from app.entities.store import entities as stored_entities
from app.entities.store import llm_entities, mentions, name_changes, titles_and_headings
from app.text.names import names
from app.text.names.metadata_names import Tag
from app.text.names.names import Name
from app.text.structure import structure


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """The names that a document gives: its title, names in its metadata, and the headings over its chunks."""

    title: Name | None = None
    tags: Sequence[Tag] = ()
    in_sections: Mapping[titles_and_headings.HeadingChunk, Name] = field(default_factory=dict)


def section_chunks(
    chunks: Sequence[mentions.ChunkText], title: Name | None
) -> dict[titles_and_headings.HeadingChunk, Name]:
    """The chunks in each section of a document; see `Sections`."""
    sections = Sections(title)
    sections.add(chunks)
    return sections.found


class Sections:
    """The sections of a document that have a usable name other than its title: `found` has their chunks and names."""

    def __init__(self, title: Name | None) -> None:
        self.found: dict[titles_and_headings.HeadingChunk, Name] = {}
        self._title_key = None if title is None else title.key
        self._first_chunks: dict[tuple[str, ...], int] = {}

    def add(self, chunks: Sequence[mentions.ChunkText]) -> None:
        """Add the next chunks, in order."""
        for chunk in chunks:
            for path in structure.sections(chunk.heading_path, chunk.content):
                first = self._first_chunks.setdefault(path, chunk.chunk_no)
                name = names.section_name(path[-1])
                if name is not None and name.key != self._title_key:
                    row = titles_and_headings.HeadingChunk(name.entity_id, first, chunk.chunk_no, chunk.document_id)
                    self.found.setdefault(row, name)


async def store(db: Writing, documents: Sequence[DocumentNames], *, before: mentions.LinkedNames | None = None) -> None:
    """Store the entities that documents name, and record the new names. A job links older texts to them.

    `before` has the names in the former versions of the documents. Texts are not searched for a heading of one word
    unless it is a title too.
    """
    titles = {one.title.entity_id: one.title for one in reversed(documents) if one.title is not None}
    sections = {row.entity_id: name for one in reversed(documents) for row, name in one.in_sections.items()}
    given = titles | sections
    if tags := [tag for one in documents for tag in one.tags]:
        await _store_tags(db, tags, before)
    if not given:
        return
    several = {entity for entity, name in given.items() if names.is_searched_heading(name.key)}
    known = before.titles | before.headings & several if before else frozenset()
    known |= await titles_and_headings.list_given(db, given.keys() - known, several=several - known)
    await mentions.ensure(db, list(given.values()), origin="text")
    if rows := [row for one in documents for row in one.in_sections]:
        await titles_and_headings.add_headings(db, rows)
    searched = titles.keys() | several
    new = {name.key: name.text for entity, name in given.items() if entity in searched - known}
    await name_changes.record_new(db, new, in_gazetteer=False)


async def _store_tags(db: Writing, found: Sequence[Tag], before: mentions.LinkedNames | None) -> None:
    """Store the entities that metadata names, and record the new names for other documents.

    An entity that only the former versions named gets the type that the new ones give it.
    """
    tags: dict[UUID, Tag] = {}
    for tag in found:
        known = tags.get(tag.entity_id)
        if known is None or (tag.type == "person" and known.type != "person"):
            tags[tag.entity_id] = tag
    new = await mentions.ensure(db, list(tags.values()), origin="metadata")
    if before is not None:
        new |= await mentions.retype(db, [tag for entity, tag in tags.items() if entity in before.mentioned - new])
    changed = {tag.key: tag.text for entity, tag in tags.items() if entity in new}
    aliases = {(tag.entity_id, key): alias for tag in found for key, alias in tag.aliases.items()}
    if aliases:
        changed |= await llm_entities.add_aliases(db, [(*one, alias) for one, alias in aliases.items()])
    roles = {tag.entity_id: (tag.role, role_key) for tag in found if tag.role and (role_key := names.key(tag.role))}
    if roles:
        keyed = {entity: (role, stored_entities.ROLE + key) for entity, (role, key) in roles.items()}
        await llm_entities.add_roles(db, keyed)
    await name_changes.record_new(db, changed, in_gazetteer=True)
