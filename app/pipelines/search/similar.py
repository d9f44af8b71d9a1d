"""Finds the chunks nearest to a stored chunk or to a vector by cosine similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from app import errors
from app.pipelines.running import model_switch
from app.pipelines.running.context import SearchContext
from app.pipelines.running.services import Services
from app.pipelines.search import completion, pages, rerank
from app.pipelines.search.candidates import Page
from app.pipelines.search.pages import HybridRun
from app.providers import base
from app.ranking import confidence
from app.ranking.fusion_plan import BY_VECTOR
from app.shapes import Answer, Detail, Filters, Hit, HybridRequest, HybridResult, Vector
from app.store.connection.transactions import Reading, retry_read
from app.store.search import recall


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
    detail: Detail = "full"
    cursor: str | None = None
    group_size: int | None = None
    collapse: bool = False

    @property
    def excluded(self) -> tuple[UUID, ...]:
        """All chunks that must not be returned."""
        return self.exclude_chunk_ids + ((self.chunk_id,) if self.chunk_id else ())


@model_switch.repeated
async def run(query: SimilarQuery, services: Services) -> Answer:
    """The nearest chunks, best first.

    Raises NotFound if the chunk does not exist or belongs to another user, InvalidCursor, StaleCursor,
    DatabaseUnavailable, and DeadlineExceeded when `services.budget.whole_s` is over.
    """
    context = SearchContext(services, query.user_id)
    same = replace(query, cursor=None, detail="full")
    wanted = pages.request_of((same, services.db.audience), query.cursor, query)
    async with context.running():
        run = await _nearest(query, context)
        hits = [Hit(candidate, "low", ()) for candidate in run.result.candidates]
        page = await pages.read(hits, wanted, context, run=run)
    return _answer(query, run.result, page, context)


@retry_read
async def _nearest(query: SimilarQuery, context: SearchContext) -> HybridRun:
    async with context.services.db.searching(query.user_id, candidates=query.candidates) as reading:
        context.version = reading.version
        request = HybridRequest(
            user_id=query.user_id,
            vector=await _vector(query, reading, context.services.embedder.model.dimension),
            lexical=None,
            weights=BY_VECTOR.weights,
            fusion=BY_VECTOR.fusion,
            limit=1 + _wanted(query),
            candidates=query.candidates,
            filters=query.filters,
            exclude_chunk_ids=query.excluded,
            with_content=query.detail != "ids" or query.collapse,
        )
        result = await recall.hybrid(reading, request)
        await context.name_sources(result.candidates, reading)
        return HybridRun(request, result, is_whole=len(result.candidates) < request.limit)


def _wanted(query: SimilarQuery) -> int:
    """How many candidates are needed to fill the answer."""
    if query.group_size is not None:
        return 2 * query.candidates
    return rerank.pool_size(query.limit) if query.collapse else query.limit


def _answer(query: SimilarQuery, result: HybridResult, page: Page, context: SearchContext) -> Answer:
    hits = tuple(_complete(hit, query, context) for hit in page.hits)
    return Answer(
        hits=hits,
        confidence=hits[0].confidence if hits else None,
        strategies_matched=("vector",) if hits else (),
        query_type=None,
        mode="semantic",
        fusion=BY_VECTOR.fusion,
        search_mode="flat",
        fallback_reason=None if hits or page.offset else completion.why_empty(query.filters, query.excluded, result),
        approximate=result.approximate and len(hits) < query.limit,
        degraded=(),
        relaxed=(),
        timings=context.timings,
        detail=query.detail,
        next_cursor=page.next_cursor,
    )


def _complete(hit: Hit, query: SimilarQuery, context: SearchContext) -> Hit:
    candidate = hit.candidate
    level = confidence.of(candidate, query_type="keyword", exact=False, relaxed=False)
    more = tuple(_complete(other, query, context) for other in hit.more)
    source = context.source_names.get(candidate.source_id) if candidate.source_id else None
    shown = completion.with_detail(candidate, query.detail)
    return Hit(shown, level, ("vector",), more=more, duplicates=hit.duplicates, source=source)


async def _vector(query: SimilarQuery, reading: Reading, dimension: int) -> Vector:
    if query.chunk_id is not None:
        return await recall.vector_of(reading, query.chunk_id)
    if query.vector is None:
        raise errors.BadRequest("Give a chunk_id or a vector.", field="chunk_id")
    if len(query.vector) != dimension:
        raise errors.InvalidVector(f"Must have {dimension} numbers; this one has {len(query.vector)}.", field="vector")
    return base.unit_vector(query.vector)
