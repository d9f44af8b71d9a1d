"""Finds the chunks nearest to a stored chunk or to a vector by cosine similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app import errors
from app.pipelines import answers
from app.pipelines.context import SearchContext
from app.pipelines.services import Services
from app.ranking import confidence
from app.ranking.fusion_plan import FusionPlan
from app.shapes import Answer, Filters, Hit, HybridRequest, HybridResult, Vector, Weights
from app.store import recall
from app.store.db import Database, Reading, retry_read

PLAN = FusionPlan(Weights(1.0, 0.0), "rrf")


@dataclass(frozen=True, slots=True)
class SimilarQuery:
    """The neighbours of a stored chunk (itself excluded) or of a vector; exactly one is given."""

    user_id: str
    chunk_id: UUID | None = None
    vector: Sequence[float] | None = None
    limit: int = 5
    filters: Filters = field(default_factory=Filters)
    exclude_chunk_ids: tuple[UUID, ...] = ()
    candidates: int = 100

    @property
    def excluded(self) -> tuple[UUID, ...]:
        """All chunks that must not be returned."""
        return self.exclude_chunk_ids + ((self.chunk_id,) if self.chunk_id else ())


async def run(query: SimilarQuery, services: Services) -> Answer:
    """The nearest chunks, best first.

    Raises NotFound if the chunk does not exist or belongs to another user, DatabaseUnavailable, and DeadlineExceeded
    when `services.budget.whole_s` is over.
    """
    context = SearchContext(services, query.user_id)
    async with context.running():
        result = await _nearest(query, services.db)
    return _answer(query, result, context)


@retry_read
async def _nearest(query: SimilarQuery, db: Database) -> HybridResult:
    async with db.reading(query.user_id, candidates=query.candidates) as reading:
        request = HybridRequest(
            user_id=query.user_id,
            vector=await _vector(query, reading),
            lexical=None,
            weights=PLAN.weights,
            fusion=PLAN.fusion,
            limit=query.limit,
            candidates=query.candidates,
            filters=query.filters,
            exclude_chunk_ids=query.excluded,
        )
        return await recall.hybrid(reading, request)


def _answer(query: SimilarQuery, result: HybridResult, context: SearchContext) -> Answer:
    hits = tuple(
        Hit(candidate, confidence.of(candidate, query_type="keyword", exact=False, relaxed=False), ("vector",))
        for candidate in result.candidates
    )
    return Answer(
        hits=hits,
        confidence=hits[0].confidence if hits else None,
        strategies_matched=("vector",) if hits else (),
        query_type=None,
        mode="semantic",
        fusion=PLAN.fusion,
        search_mode="flat",
        fallback_reason=None if hits else answers.why_empty(query.filters, query.excluded, result),
        approximate=result.approximate and len(hits) < query.limit,
        degraded=(),
        relaxed=(),
        timings=context.timings,
    )


async def _vector(query: SimilarQuery, reading: Reading) -> Vector:
    if query.chunk_id is not None:
        return await recall.vector_of(reading, query.user_id, query.chunk_id)
    if query.vector is None:
        raise errors.BadRequest("Give a chunk_id or a vector.", field="chunk_id")
    return list(query.vector)
