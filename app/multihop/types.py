"""Defines what links between chunks start from, and the chunks that they lead to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.database.filter_types import Filters
from app.kinds import Vector
from app.query.types import ChunkLink
from app.text.queries.conditions import IndexText


@dataclass(frozen=True, slots=True)
class SourceIdentifier:
    """An identifier in a source, as written and as indexed."""

    text: str
    indexed: IndexText


@dataclass(frozen=True, slots=True)
class LinkSource:
    """A chunk from which links start, with its weight from 0 to 1.

    Rare words and identifiers start from leading sources only. `identifiers` are those of its text that are followed,
    `identifier_pieces` is the text of which no word is a rare word.
    """

    chunk_id: UUID
    weight: float
    is_leading: bool = False
    identifiers: Sequence[SourceIdentifier] = ()
    identifier_pieces: str = ""


@dataclass(frozen=True, slots=True)
class LinkScope:
    """What links start from, and where they may lead.

    They start from the sources, and from the query: `names` are the keys of its word sequences, `headings` those of
    them that may be headings, and `words` its lexemes with their weights, 0 for one that no chunk contains. They lead
    to chunks that the filters pass and that are not excluded. The similarity of the chunks in `compared` is found even
    if no link leads to them.
    """

    sources: Sequence[LinkSource] = ()
    names: Collection[str] = ()
    headings: Collection[str] = ()
    words: Mapping[str, float] = field(default_factory=dict)
    vector: Vector | None = None
    corpus_chunks: int = 0
    compared: Collection[UUID] = ()
    filters: Filters = field(default_factory=Filters)
    exclude_chunk_ids: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class LinkedChunk:
    """A chunk with its similarity to the query vector, and a link to it with its weight; None if it is only compared.

    The weight is the value to which the link raises its signal.
    """

    chunk_id: UUID
    document_id: UUID
    similarity: float | None
    weight: float | None = None
    link: ChunkLink | None = None


@dataclass(frozen=True, slots=True)
class ChunkName:
    """A name in a set of chunks: its words, the number of chunks with it, and the first chunk of the set with it."""

    name: str
    name_key: str
    chunks: int
    chunk_id: UUID
