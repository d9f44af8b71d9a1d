"""Finds the chunks nearest to a stored chunk or to a vector by cosine similarity."""

from __future__ import annotations

from dataclasses import replace

from app import errors, limits
from app.database.transactions import Reading, retry_read
from app.kinds import Vector
from app.models import base
from app.query import model_switch
from app.query.context import SearchContext
from app.query.search_request import SearchRequest
from app.query.similar_request import SimilarRequest
from app.query.types import Answer, Hit, HybridRequest, HybridResult
from app.relevance import confidence
from app.search import completion, named_sources, pages, state, understanding
from app.search.pages import HybridRun
from app.search.ranking.fusion_plan import BY_VECTOR
from app.search.state import Page, SearchState
from app.search.store import recall
from app.services import Services
from app.text.queries.conditions import ParsedQuery


async def run(query: SimilarRequest, user_id: str, services: Services) -> Answer:
    """The nearest chunks, best first.

    Raises NotFound if the chunk does not exist or belongs to another user, `invalid_cursor`, `stale_cursor`,
    DatabaseUnavailable, and DeadlineExceeded when `services.budget.whole_s` is over.
    """
    return await model_switch.run(services.embedder, services.db, lambda: _find(query, user_id, services))


async def _find(query: SimilarRequest, user_id: str, services: Services) -> Answer:
    context = SearchContext(services, user_id)
    wanted = pages.request_of(query, context)
    with context.timed("total"):
        run = await _nearest(query, context)
        page = await pages.read(state.unranked(run.result), wanted, context, run=run)
        page = replace(page, hits=tuple(_complete(hit, context) for hit in page.hits))
        answer = _answer(query, run.result, page, context)
        as_search = SearchRequest.model_construct(vector=run.request.vector, detail=query.detail)
        search = SearchState(as_search, context, ParsedQuery("", ""), run.request, result=run.result)
        return await state.finish(search, answer)


@retry_read
async def _nearest(query: SimilarRequest, context: SearchContext) -> HybridRun:
    candidates = max(limits.CANDIDATES, query.limit)
    async with context.services.db.searching(context.user_id, candidates=candidates) as reading:
        context.version = reading.version
        request = HybridRequest(
            user_id=context.user_id,
            vector=await _vector(query, reading, context.services.embedder.model.dimension),
            lexical=None,
            weights=BY_VECTOR.weights,
            fusion=BY_VECTOR.fusion,
            limit=1 + _wanted(query, candidates),
            candidates=candidates,
            filters=query.filters,
            exclude_chunk_ids=tuple(query.excluded),
            with_content=query.detail != "ids" or query.is_collapsed,
        )
        result = await recall.hybrid(reading, request)
        await named_sources.read(context, result.candidates, reading)
        return HybridRun(request, result, is_whole=len(result.candidates) < request.limit)


def _wanted(query: SimilarRequest, candidates: int) -> int:
    """How many candidates are needed to fill the answer."""
    if query.group_size is not None:
        return 2 * candidates
    return understanding.compared_for_duplicates(query.limit) if query.is_collapsed else query.limit


def _answer(query: SimilarRequest, result: HybridResult, page: Page, context: SearchContext) -> Answer:
    hits = page.hits
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


def _complete(hit: Hit, context: SearchContext) -> Hit:
    candidate = hit.candidate
    more = tuple(_complete(other, context) for other in hit.more)
    source = context.source_names.get(candidate.source_id) if candidate.source_id else None
    return Hit(candidate, confidence.UNKNOWN, ("vector",), more=more, duplicates=hit.duplicates, source=source)


async def _vector(query: SimilarRequest, reading: Reading, dimension: int) -> Vector:
    if query.chunk_id is not None:
        return await recall.vector_of(reading, query.chunk_id)
    assert query.vector is not None  # the request has one of them
    if len(query.vector) != dimension:
        raise errors.BadRequest(
            f"Must have {dimension} numbers; this one has {len(query.vector)}.", field="vector", code="invalid_vector"
        )
    return base.unit_vector(query.vector)
