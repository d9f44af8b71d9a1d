"""Reads chunks by id, the chunk of each document that is nearest to a vector, and the lexemes of chunks and words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.database import filters, sql
from app.database.schema import tables
from app.database.transactions import Reading
from app.documents.store import visible_document_lists
from app.enums import Vector
from app.query.search_types import Candidate, HybridRequest

_c, _d = tables.chunks.c, tables.documents.c


async def by_id(
    db: Reading, chunk_ids: Sequence[UUID], *, vector: Vector | None
) -> dict[UUID, tuple[Candidate, float | None]]:
    """The chunks by id, with content and similarity to the vector, but without scores."""
    binds = {"user_id": db.user_id, "chunk_ids": list(chunk_ids), "embedding": vector}
    rows = await db.execute(sql.statement("chunks_by_id"), binds)
    return {row.chunk_id: _with_similarity(row) for row in rows}


async def ids(db: Reading, *, chunk_id: UUID | None, document_id: UUID | None, identity: bytes | None) -> list[UUID]:
    """The ids of the chunks of a document, given by its id or identity, in order; or `chunk_id`, if it is stored."""
    query = sa.select(_c.chunk_id).where(_c.user_id == db.user_id)
    if chunk_id is not None:
        query = query.where(_c.chunk_id == chunk_id)
    elif document_id is not None:
        query = query.where(_c.document_id == document_id)
    else:
        named = sa.select(_d.document_id).where(_d.user_id == db.user_id, _d.identity == identity)
        query = query.where(_c.document_id == named.scalar_subquery())
    return list(await db.scalars(query.order_by(_c.chunk_index)))


async def best_of_documents(
    db: Reading, request: HybridRequest, document_ids: Sequence[UUID], *, limit: int
) -> list[Candidate]:
    """For each document, in the given order, the chunk that is nearest to the vector; it has score 0 and no ranks.

    Omits documents that do not pass the filters, and excluded chunks.
    """
    await visible_document_lists.prepare(db)
    filtering = filters.binds(filters.visible(db, request.filters))
    binds = {
        "user_id": request.user_id,
        "linked_ids": list(document_ids),
        "exclude_chunk_ids": list(request.exclude_chunk_ids),
        "embedding": request.vector,
        "limit": limit,
        **filtering,
    }
    rows = await db.execute(sql.statement("best_chunks_of_documents", *filtering), binds)
    found = (_with_similarity(row) for row in rows)
    return [candidate._replace(vector_score=similarity, cosine=similarity) for candidate, similarity in found]


def _with_similarity(row: sa.Row[Any]) -> tuple[Candidate, float | None]:
    fields = dict(row._mapping)
    similarity = fields.pop("similarity")
    fields["heading_path"] = tuple(fields["heading_path"])
    return Candidate(**fields, score=0.0), similarity


_LEXEMES_OF_CHUNKS = sql.inline(
    """
    WITH words AS MATERIALIZED (
        SELECT w.lexeme, CAST({{lexeme_query w.lexeme}} AS tsquery) AS query FROM unnest(:lexemes::text[]) AS w (lexeme)
    )
    SELECT c.chunk_id, c.lexemes
    FROM unnest(:chunk_ids::uuid[]) AS g (chunk_id)
    CROSS JOIN LATERAL (
        SELECT o.chunk_id, ARRAY(SELECT w.lexeme FROM words AS w WHERE o.tsv @@ w.query) AS lexemes
        FROM stepwell.chunks AS o
        WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
    ) AS c
    """
)


async def matching_lexemes(
    db: Reading, chunk_ids: Sequence[UUID], lexemes: Iterable[str]
) -> dict[UUID, frozenset[str]]:
    """For each chunk, the given lexemes that it contains."""
    binds = {"user_id": db.user_id, "chunk_ids": list(chunk_ids), "lexemes": list(lexemes)}
    rows = await db.execute(_LEXEMES_OF_CHUNKS, binds)
    return {row.chunk_id: frozenset(row.lexemes) for row in rows}


@dataclass(frozen=True, slots=True)
class TextKind:
    """The text-search configuration of a chunk, and whether its text is Markdown."""

    config: str
    markdown: bool


async def kinds(db: Reading, chunk_ids: Sequence[UUID]) -> dict[UUID, TextKind]:
    """What kind of text each chunk is."""
    document = sa.and_(_d.user_id == db.user_id, _d.document_id == _c.document_id)
    query = sa.select(_c.chunk_id, _c.config, _d.markdown).join_from(tables.chunks, tables.documents, document)
    rows = await db.execute(query.where(_c.user_id == db.user_id, sql.among(_c.chunk_id, chunk_ids)))
    return {row.chunk_id: TextKind(row.config, row.markdown) for row in rows}


async def lexemes_of_words(
    db: Reading, config: str, indexed: Mapping[str, str], *, sought: Iterable[str], lexemes: Iterable[str]
) -> dict[str, frozenset[str]]:
    """The words that have one of `lexemes` or share a lexeme with a word of `sought`, each with all its lexemes.

    `indexed` maps words to their form in the text index; `sought` are words in that form.
    """
    binds = {
        "config": config,
        "words": list(indexed),
        "indexed": list(indexed.values()),
        "sought": list(sought),
        "lexemes": list(lexemes),
    }
    rows = await db.execute(sql.statement("lexemes_of_words"), binds)
    return {row.word: frozenset(row.lexemes) for row in rows}
