"""Searching over HTTP."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body, Request

from app.api import admission, auth, bodies, problems, wire
from app.api.search_models import SearchRequest, SearchResponse, SimilarRequest
from app.pipelines import search, similar
from app.pipelines.services import Services
from app.shapes import Answer, Query

router = APIRouter(prefix="/api/rag", tags=["search"], route_class=bodies.SearchRoute)

_SEARCHES = {
    "question": {
        "summary": "A question in plain words",
        "value": {"query": "Why do the buoys not report every minute?"},
    },
    "identifier": {"summary": "An error code", "value": {"query": "ERR_TIDE_4012", "limit": 3}},
    "phrase": {
        "summary": "A phrase, filtered and explained",
        "value": {"query": '"no cement" lime', "filters": {"metadata": {"tags": ["decision"]}}, "explain": True},
    },
}
_ABOUT = {"person": {"summary": "A person's work", "value": {"query": "What has Ana been working on?"}}}
_LIKE = {"vector": {"summary": "Near a vector of the stored dimension", "value": {"vector": [0.05] * 384, "limit": 3}}}


@router.post(
    "/search",
    operation_id="search",
    summary="Find passages",
    responses=problems.responses(400, 401, 403, 408, 413, 415, 422, 429, 503, 504),
)
async def find(
    asked: Annotated[SearchRequest, Body(openapi_examples=_SEARCHES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.Use,
) -> SearchResponse:
    """Search by meaning and by words, in one statement.

    Any word of the query may match; quotes, `+` and `-` are strict. The answer says what it could not use.
    """
    return await _search(
        asked.shape(user_id, candidates=use.candidates, k=use.rrf_k, guidance=use.guidance), request, use
    )


@router.post(
    "/search/two-pass",
    operation_id="search_two_pass",
    summary="Find passages in the documents about an entity",
    responses=problems.responses(400, 401, 403, 408, 413, 415, 422, 429, 503, 504),
)
async def find_about(
    asked: Annotated[SearchRequest, Body(openapi_examples=_ABOUT)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.Use,
) -> SearchResponse:
    """Find the entities that the query is about, search the documents about them, and fill up from all others.

    The same as a search with `hierarchy: force`. Without any such entity it is a plain search that says so.
    """
    query = asked.shape(user_id, candidates=use.candidates, k=use.rrf_k, guidance=use.guidance)
    return await _search(replace(query, guidance=replace(query.guidance, hierarchy="force")), request, use)


async def _search(query: Query, request: Request, use: Services) -> SearchResponse:
    return _answered(await admission.in_turn(request, query.user_id, partial(search.run, query, use)), request)


@router.post(
    "/similar",
    operation_id="similar",
    summary="Find similar passages",
    responses=problems.responses(400, 401, 403, 404, 408, 413, 415, 422, 429, 503, 504),
)
async def find_similar(
    asked: Annotated[SimilarRequest, Body(openapi_examples=_LIKE)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.Use,
) -> SearchResponse:
    """The nearest passages by meaning to a stored chunk (itself excluded) or to a vector."""
    if asked.vector is not None:
        wire.expect_dimension(asked.vector, use.embedder.model.dimension)
    like = similar.SimilarQuery(
        user_id=user_id,
        chunk_id=asked.chunk_id,
        vector=asked.vector,
        limit=asked.limit,
        filters=asked.filters.shape(),
        exclude_chunk_ids=tuple(asked.exclude_chunk_ids),
        candidates=use.candidates,
    )
    return _answered(await admission.in_turn(request, user_id, lambda _: similar.run(like, use)), request)


def _answered(answer: Answer, request: Request) -> SearchResponse:
    request.state.answer, request.state.timings = answer, answer.timings
    return SearchResponse.of(answer)
