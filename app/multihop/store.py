"""Finds the chunks to which links lead, one statement for each kind of link, and the names in chunks.

A statement declares the binds that it uses. Its columns are chunk_id, document_id, similarity (null without a vector),
weight (null without a link), signal, name, source_chunk_id, chunks, steps, heading.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from app.database import filters, sql
from app.database.filter_types import Filters
from app.database.transactions import Reading
from app.documents.store import visible_document_lists
from app.enums import Vector
from app.query import hop_signal_weights
from app.query.search_types import ChunkLink
from app.text.queries.parsed_query import IndexText

MAX_SOURCES = 10
MAX_NAMES = 12
MIN_CHUNKS, MAX_CHUNKS = hop_signal_weights.MIN_CHUNKS, 50
"""Bounds of the number of chunks with a shared name, rare word or identifier. More chunks are not specific."""
MAX_COMPARED, MAX_LINKED = 400, 60
"""Most pairs that are compared (of a chunk and a source, or a chunk and an identifier), and most returned chunks."""
MOST_FULL = 3
"""Most chunks of a document that each have the full weight of an identifier. More chunks share the weight of these."""
MAX_COUNTED = 500
"""A name's mentions are counted up to this many chunks. Beyond that, its weight hardly changes."""
MAX_SECTIONS = 3
"""A heading counts as a name if it has at most this many sections. "Members" or "Next steps" has more."""
MAX_NAMED, MAX_NAMED_OF_ONE = 50, 3
"""Most chunks that the query names, in all and of one document or section. The most similar ones are chosen."""
SECOND_SOURCES, SECOND_STEP = 5, 0.5
"""Number of linked chunks where the second step starts, and the factor of the second step."""
UNKNOWN_SIMILARITY = 0.5
"""Assumed similarity to the query of a chunk that cannot be compared with it."""
SIMILARITY_OFFSET = 0.5
"""Added to similarities when the second step chooses its sources by weight and similarity."""
NAMES = ("named_chunks", "link_sources", "title_links", "shared_names", "result_links", "links")
"""The files of the statement that follows names: its CTEs in order, then its own."""
_COMPOSED = {NAMES[-1]: NAMES}
_STARTS = frozenset({"leading_chunk_ids", "words", "identifiers"})
"""If one of these binds is empty, a statement that uses it finds nothing."""


@dataclass(frozen=True, slots=True)
class SourceIdentifier:
    """An identifier in a source, as written and as indexed."""

    text: str
    indexed: IndexText


@dataclass(frozen=True, slots=True)
class LinkSource:
    """A chunk from which links start, with its weight from 0 to 1.

    `lead` is its score in hop 1 as a share of the best, 0 for a chunk far below. Only leading sources have links by
    rare words and identifiers. `identifiers` has the identifiers to follow, `identifier_pieces` the text whose words do
    not count as rare words.
    """

    chunk_id: UUID
    weight: float
    lead: float = 0.0
    identifiers: Sequence[SourceIdentifier] = ()
    identifier_pieces: str = ""


@dataclass(frozen=True, slots=True)
class LinkScope:
    """Where links start, and where they may lead.

    They start from the sources and from the query: `names` has the keys of its word sequences, `headings` the keys that
    may be headings, and `words` its lexemes with their weights (0 if no chunk contains the lexeme). They lead to chunks
    that pass the filters and are not excluded. The chunks in `compared` get a similarity even if no link leads to them.
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

    The link raises its signal to the weight.
    """

    chunk_id: UUID
    document_id: UUID
    similarity: float | None
    weight: float | None = None
    link: ChunkLink | None = None


@dataclass(frozen=True, slots=True)
class ChunkName:
    """A name in a set of chunks: its words, the number of chunks with it, and the first chunk in the set with it."""

    name: str
    name_key: str
    chunks: int
    chunk_id: UUID


async def follow(db: Reading, scope: LinkScope) -> list[LinkedChunk]:
    """The linked chunks, once for each signal, and the compared chunks."""
    await visible_document_lists.prepare(db)
    scope = replace(scope, filters=filters.visible(db, scope.filters))
    values, parts = binds(db.user_id, scope), filters.parts(scope.filters)
    restricted = {"restricted"} if db.restriction is not None else set()
    found: list[LinkedChunk] = []
    for files in (_COMPOSED.get(name, name) for name in hop_signal_weights.STATEMENTS):
        source = sql.load(files)
        if all(values[bind] for bind in _STARTS & source.binds.keys()):
            statement = sql.statement(files, *parts, *(restricted & source.parts))
            found += map(_link, await db.execute(statement, values))
    return found


def _link(row: Sequence[Any]) -> LinkedChunk:
    chunk_id, document_id, similarity, weight, *link = row
    return LinkedChunk(chunk_id, document_id, similarity, weight, None if weight is None else ChunkLink(*link))


def binds(user_id: str, scope: LinkScope) -> dict[str, Any]:
    """The binds of the statements that follow links. Each statement declares the binds that it uses."""
    keys = list(scope.names)
    return {
        "user_id": user_id,
        "source_chunk_ids": [source.chunk_id for source in scope.sources],
        "source_weights": [source.weight for source in scope.sources],
        **_leading_sources([source for source in scope.sources if source.lead]),
        "keys": [key.encode() for key in keys],
        "heading": [key in scope.headings for key in keys],
        "words": list(scope.words),
        "word_weights": list(scope.words.values()),
        "corpus": scope.corpus_chunks,
        "embedding": scope.vector,
        "compared_ids": list(scope.compared),
        **_limits(scope.corpus_chunks),
        "exclude_chunk_ids": list(scope.exclude_chunk_ids),
        **filters.binds(scope.filters),
    }


def _leading_sources(sources: Sequence[LinkSource]) -> dict[str, Any]:
    """The binds of the leading sources and of their identifiers."""
    pairs = [(source, identifier) for source in sources for identifier in source.identifiers]
    return {
        "leading_chunk_ids": [source.chunk_id for source in sources],
        "leading_weights": [source.weight for source in sources],
        "skipped": [source.identifier_pieces for source in sources],
        "identifiers": [identifier.text for _source, identifier in pairs],
        "folded": [identifier.indexed.folded for _source, identifier in pairs],
        "plain": [identifier.indexed.plain for _source, identifier in pairs],
        "identifier_chunk_ids": [source.chunk_id for source, _identifier in pairs],
        "identifier_weights": [source.weight * source.lead for source, _identifier in pairs],
    }


def _limits(corpus_chunks: int) -> dict[str, Any]:
    return {
        "most_sources": MAX_SOURCES,
        "most_names": MAX_NAMES,
        "most_named": MAX_NAMED,
        "most_named_of_one": MAX_NAMED_OF_ONE,
        "most_sections": MAX_SECTIONS,
        "counted": MAX_COUNTED,
        "rarest": MIN_CHUNKS,
        "commonest": MAX_CHUNKS,
        # The cube root: the idf of a word in that many chunks is two thirds of the largest possible.
        "commonest_word": max(MIN_CHUNKS, min(MAX_CHUNKS, int(corpus_chunks ** (1 / 3)))),
        "most_full": MOST_FULL,
        "most_compared": MAX_COMPARED,
        "most_chunks": MAX_LINKED,
        "first_step": hop_signal_weights.FIRST_STEP,
        "second_step": SECOND_STEP,
        "second_sources": SECOND_SOURCES,
        "similarity_offset": SIMILARITY_OFFSET,
        "unknown_similarity": UNKNOWN_SIMILARITY,
    }


async def names(db: Reading, chunk_ids: Sequence[UUID]) -> list[ChunkName]:
    """The names in the chunks, with the number of chunks that contain each."""
    values = {"user_id": db.user_id, "chunk_ids": list(chunk_ids), "counted": MAX_COUNTED}
    rows = await db.execute(sql.statement("names_of_chunks"), values)
    return sql.read_records(ChunkName, rows.all())
