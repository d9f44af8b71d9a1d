"""Reads what a search finds in one passage: its exact ranks in both legs, and which conditions it meets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.shapes import HybridRequest, IndexText
from app.store.connection import sql
from app.store.connection.transactions import Reading
from app.store.filters import filters
from app.store.schema import tables
from app.store.search import recall

MOST_COMPARED = 100_000
"""Vectors with which that of a chunk is compared; beyond them its rank is a lower bound."""

RANKS_OF_CHUNK = (*recall.LEGS, "asked", "asked_vector", "asked_text", "ranks_of_chunk")
"""The files of the statement that ranks one chunk: its CTEs in their order, and its own."""

_c, _d = tables.chunks.c, tables.documents.c


@dataclass(frozen=True, slots=True)
class LegRanks:
    """A chunk's scores and ranks in both legs, as if their candidates were not cut.

    None in the vector leg if it does not run, and in the text leg if no term of the query yields the chunk. `exact` is
    false if the vector rank is only the best possible one.
    """

    vector_score: float | None
    vector_rank: int | None
    exact: bool
    text_score: float | None
    text_rank: int | None


@dataclass(frozen=True, slots=True)
class TestedConditions:
    """Whether a document meets each condition, in their order, and the stored values that a hit does not have."""

    passed: tuple[bool, ...]
    created_at: datetime


async def chunk_ids(
    db: Reading, *, chunk_id: UUID | None, document_id: UUID | None, identity: bytes | None
) -> list[UUID]:
    """The chunks of a document by its id or identity in their order, or the one chunk if it is stored."""
    query = sa.select(_c.chunk_id).where(_c.user_id == db.user_id)
    if chunk_id is not None:
        query = query.where(_c.chunk_id == chunk_id)
    elif document_id is not None:
        query = query.where(_c.document_id == document_id)
    else:
        of_identity = sa.select(_d.document_id).where(_d.user_id == db.user_id, _d.identity == identity)
        query = query.where(_c.document_id == of_identity.scalar_subquery())
    return list(await db.scalars(query.order_by(_c.chunk_index)))


async def leg_ranks(db: Reading, request: HybridRequest, chunk_id: UUID) -> LegRanks:
    """The chunk's ranks among the chunks in the request's scope; the chunk itself need not be in it."""
    request = await recall.visible(db, request)
    hidden = ("hidden",) if db.has_hidden else ()
    compiled = await recall.compiled_conditions(db, request.lexical)
    statement, binds = recall.prepared(request, *hidden, stored=db.graph_rows, names=RANKS_OF_CHUNK, compiled=compiled)
    await db.use_custom_plans(always=compiled is not None)
    row = (await db.execute(statement, {**binds, "chunk_id": chunk_id, "most_compared": MOST_COMPARED})).one()
    return LegRanks(
        vector_score=row.vector_score,
        vector_rank=None if row.vector_score is None else row.vector_rank,
        exact=row.vector_exact,
        text_score=row.text_score,
        text_rank=row.text_rank,
    )


async def conditions(
    db: Reading, document_id: UUID, conditions: Sequence[filters.NamedCondition]
) -> TestedConditions | None:
    """Test conditions on a document; None if there are none or it is not stored."""
    binds = {"user_id": db.user_id, "document_id": document_id, "paths": [each.path for each in conditions]}
    rows = list(await db.execute(sql.statement("conditions_of_document"), binds))
    if not rows:
        return None
    return TestedConditions(tuple(row.passes for row in rows), rows[0].created_at)


_PHRASES_IN_CHUNK = sql.inline(
    """
    SELECT CASE WHEN numnode(q.query) > 0 THEN c.tsv @@ q.query END AS contains
    FROM stepwell.chunks AS c
    CROSS JOIN unnest(:folded, :plain) WITH ORDINALITY AS p (folded, plain, place)
    CROSS JOIN LATERAL phraseto_tsquery(CAST(c.config AS regconfig),
        {{text_for c.config, p.folded, p.plain}}) AS q (query)
    WHERE c.user_id = :user_id AND c.chunk_id = :chunk_id
    ORDER BY p.place
    """,
    user_id="text",
    chunk_id="uuid",
    folded="text[]",
    plain="text[]",
)


async def contained(db: Reading, chunk_id: UUID, phrases: Sequence[IndexText]) -> list[bool | None]:
    """Whether a chunk contains each word or phrase; None for one that its language does not index."""
    if not phrases:
        return []
    binds: dict[str, Any] = {
        "user_id": db.user_id,
        "chunk_id": chunk_id,
        "folded": [text.folded for text in phrases],
        "plain": [text.plain for text in phrases],
    }
    return list(await db.scalars(_PHRASES_IN_CHUNK, binds))
