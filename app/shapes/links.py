"""Defines the types for names that chunks share and for the chunks that such names link."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.shapes.filters import Filters
from app.shapes.kinds import Vector
from app.shapes.reading import IndexText


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """Input of the statement that follows names; see `links.sql`.

    `sources` are chunks with weights from 0 to 1. `keys` are keys of the query's word sequences, `heading_keys` those
    of them that may be headings. The similarity of the chunks in `compared` is returned even if no name leads to them.
    """

    user_id: str
    sources: Mapping[UUID, float] = field(default_factory=dict)
    keys: Collection[str] = ()
    heading_keys: Collection[str] = ()
    vector: Vector | None = None
    compared: Collection[UUID] = ()
    filters: Filters = field(default_factory=Filters)
    exclude_chunk_ids: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class LinkedChunk:
    """A chunk linked by names, with the weight of each kind of link and its name; see `links.sql`."""

    chunk_id: UUID
    document_id: UUID
    similarity: float | None
    named_name: str | None = None
    named_heading: bool | None = None
    linked: float | None = None
    linked_chunks: int | None = None
    linked_steps: int | None = None
    linked_name: str | None = None
    linked_heading: bool | None = None
    linked_source: UUID | None = None
    shared: float | None = None
    shared_chunks: int | None = None
    shared_name: str | None = None
    shared_source: UUID | None = None


@dataclass(frozen=True, slots=True)
class RareWordRequest:
    """Input of the statement that follows rare words; see `rare_words.sql`.

    `sources` are chunks with weights from 0 to 1, `words` the lexemes of the query with their weights, and `skipped`
    has the indexed text whose words are skipped in a source.
    """

    user_id: str
    sources: Mapping[UUID, float]
    words: Mapping[str, float]
    skipped: Mapping[UUID, str] = field(default_factory=dict)
    corpus_chunks: int = 0
    vector: Vector | None = None
    filters: Filters = field(default_factory=Filters)
    exclude_chunk_ids: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class SourceIdentifier:
    """An identifier in a source chunk, as written and as indexed, with the source's weight from 0 to 1."""

    text: str
    indexed: IndexText
    source: UUID
    weight: float


@dataclass(frozen=True, slots=True)
class IdentifierRequest:
    """Input of the statement that follows identifiers; `words` are the lexemes of the query.

    See `shared_identifiers.sql`.
    """

    user_id: str
    identifiers: Sequence[SourceIdentifier]
    words: Collection[str]
    vector: Vector | None = None
    filters: Filters = field(default_factory=Filters)
    exclude_chunk_ids: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class WordLink:
    """A chunk that shares a rare word (as a lexeme) or an identifier with a source, with the weight of the link."""

    chunk_id: UUID
    document_id: UUID
    similarity: float | None
    weight: float
    word: str
    chunks: int
    source: UUID


@dataclass(frozen=True, slots=True)
class ChunkName:
    """A name in a set of chunks: its words, the number of chunks with it, and the first chunk of the set with it."""

    name: str
    name_key: str
    chunks: int
    chunk_id: UUID
