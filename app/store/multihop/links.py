"""Finds chunks linked by names, rare words or identifiers to source chunks or to a query.

Runs `links.sql`, `rare_words.sql`, `shared_identifiers.sql` and `names_of_chunks.sql`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from app.shapes import ChunkName, IdentifierRequest, LinkedChunk, LinkRequest, RareWordRequest, WordLink
from app.store.connection import row_records, sql, vectors
from app.store.connection.transactions import Reading
from app.store.documents import filters

MAX_SOURCES = 10
MAX_NAMES = 12
MIN_CHUNKS, MAX_CHUNKS = 2, 50
"""Number of chunks with a shared name, a rare word or an identifier: one links nothing, more are not specific."""
MAX_COMPARED, MAX_RARE_CHUNKS = 400, 60
"""Pairs of a chunk and a source, or of a chunk and an identifier, that are compared, and chunks that are returned."""
MAX_COUNTED = 2_000
"""Chunks up to which a name's mentions are counted; its weight is negligible beyond."""
MAX_SECTIONS = 3
"""Sections up to which a heading is treated as a name; one over more ("Members", "Next steps") is ignored."""
SECOND_STEPS, SECOND_WEIGHT = 5, 0.5


async def follow(db: Reading, request: LinkRequest) -> list[LinkedChunk]:
    """The chunks linked by names in the source chunks and in the query, with their similarity to the query vector."""
    rows = await db.execute(sql.statement("links", *filters.parts(request.filters)), binds(request))
    return row_records.of(LinkedChunk, rows.all())


def binds(request: LinkRequest) -> dict[str, Any]:
    """The binds of `links.sql`."""
    keys = list(request.keys)
    return {
        "user_id": request.user_id,
        "source_chunk_ids": list(request.sources),
        "weights": list(request.sources.values()),
        "also_ids": list(request.compared),
        "keys": [key.encode() for key in keys],
        "heading": [key in request.heading_keys for key in keys],
        "embedding": None if request.vector is None else vectors.as_text(request.vector),
        "most_sources": MAX_SOURCES,
        "most_names": MAX_NAMES,
        "rarest": MIN_CHUNKS,
        "commonest": MAX_CHUNKS,
        "counted": MAX_COUNTED,
        "most_sections": MAX_SECTIONS,
        "second_steps": SECOND_STEPS,
        "second_weight": SECOND_WEIGHT,
        "exclude_chunk_ids": list(request.exclude_chunk_ids),
        **filters.binds(request.filters),
    }


async def by_rare_words(db: Reading, request: RareWordRequest) -> list[WordLink]:
    """The chunks that share a rare word with the sources, with their similarity to the query vector."""
    rows = await db.execute(sql.statement("rare_words", *filters.parts(request.filters)), rare_binds(request))
    return row_records.of(WordLink, rows.all())


def rare_binds(request: RareWordRequest) -> dict[str, Any]:
    """The binds of `rare_words.sql`."""
    return {
        "user_id": request.user_id,
        "source_chunk_ids": list(request.sources),
        "weights": list(request.sources.values()),
        "skipped": [request.skipped.get(chunk_id, "") for chunk_id in request.sources],
        "words": list(request.words),
        "word_weights": list(request.words.values()),
        "corpus": request.corpus_chunks,
        "rarest": MIN_CHUNKS,
        "commonest": _most_chunks_of_rare_word(request.corpus_chunks),
        "most_compared": MAX_COMPARED,
        "most_chunks": MAX_RARE_CHUNKS,
        "embedding": None if request.vector is None else vectors.as_text(request.vector),
        "exclude_chunk_ids": list(request.exclude_chunk_ids),
        **filters.binds(request.filters),
    }


async def by_identifiers(db: Reading, request: IdentifierRequest) -> list[WordLink]:
    """The chunks that contain an identifier of a source, with their similarity to the query vector."""
    rows = await db.execute(
        sql.statement("shared_identifiers", *filters.parts(request.filters)), identifier_binds(request)
    )
    return row_records.of(WordLink, rows.all())


def identifier_binds(request: IdentifierRequest) -> dict[str, Any]:
    """The binds of `shared_identifiers.sql`."""
    return {
        "user_id": request.user_id,
        "identifiers": [each.text for each in request.identifiers],
        "folded": [each.indexed.folded for each in request.identifiers],
        "plain": [each.indexed.plain for each in request.identifiers],
        "source_chunk_ids": [each.source for each in request.identifiers],
        "weights": [each.weight for each in request.identifiers],
        "words": list(request.words),
        "rarest": MIN_CHUNKS,
        "commonest": MAX_CHUNKS,
        "most_compared": MAX_COMPARED,
        "most_chunks": MAX_RARE_CHUNKS,
        "embedding": None if request.vector is None else vectors.as_text(request.vector),
        "exclude_chunk_ids": list(request.exclude_chunk_ids),
        **filters.binds(request.filters),
    }


def _most_chunks_of_rare_word(corpus_chunks: int) -> int:
    """The cube root: the idf of a word in that many chunks is two thirds of the largest possible."""
    return max(MIN_CHUNKS, min(MAX_CHUNKS, int(corpus_chunks ** (1 / 3))))


async def names(db: Reading, chunk_ids: Sequence[UUID]) -> list[ChunkName]:
    """The names in the chunks, with the number of chunks that contain each."""
    binds = {"user_id": db.user_id, "chunk_ids": list(chunk_ids), "counted": MAX_COUNTED}
    rows = await db.execute(sql.statement("names_of_chunks"), binds)
    return row_records.of(ChunkName, rows.all())
