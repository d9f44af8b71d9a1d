"""Serves the endpoints for search, two-pass search and similar passages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from fastapi import Body, Request, Response

from app.concurrency.limiter import Turn
from app.http import admission, auth, bodies, problems, responses
from app.query import answer_hints
from app.query.search_request import SearchRequest, SimilarRequest
from app.query.search_types import Answer
from app.requests import field_types
from app.search import search, similar
from app.search.api_models import SearchAnswer, response_of
from app.services import Services

router = bodies.router("search", bodies.SearchRoute)

_SEARCH_EXAMPLES = {
    "question": {
        "summary": "A question",
        "value": {"query": "Why do the buoys not report every minute?"},
    },
    "identifier": {"summary": "An error code", "value": {"query": "ERR_TIDE_4012", "limit": 3}},
    "vector": {
        "summary": "Your own vector, with the words of the query",
        "value": {"query": "sync interval", "vector": [0.05] * 384, "limit": 3},
    },
    "phrase": {
        "summary": "A phrase, filtered and explained",
        "value": {"query": '"no cement" lime', "filters": {"metadata": {"tags": ["decision"]}}, "explain": True},
    },
    "tuned": {
        "summary": "The latest of each document, diversified",
        "value": {
            "query": "Why do the buoys not report every minute?",
            "detail": "compact",
            "ranking": {"mmr": True, "recency": {"half_life_days": 90}, "group": {"by": "document", "size": 2}},
        },
    },
}
_TWO_PASS_EXAMPLES = {
    "person": {"summary": "Work of a person", "value": {"query": "What has cliffclarke been working on?"}}
}
_SIMILAR_EXAMPLES = {
    "chunk": {
        "summary": "Neighbours of a chunk of sample/decisions/D-019-lime.md",
        "value": {"chunk_id": "e0e5bc55-fb8e-5779-add3-0a16a3709a5c", "limit": 3},
    },
    "vector": {"summary": "Neighbours of a vector", "value": {"vector": [0.05] * 384, "limit": 3}},
}


@router.post(
    "/search",
    operation_id="search",
    summary="Search",
    response_model=SearchAnswer,
    responses=problems.PAGED_SEARCH,
)
async def find(
    body: Annotated[SearchRequest, Body(openapi_examples=_SEARCH_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.ReadUse,
) -> Response:
    """Search by vectors and by BM25, fused in one SQL statement.

    A passage may match any word of the query but must meet its conditions, unless `relaxed` says that they were
    dropped. `degraded` lists what failed and was left out.
    """
    check_vector(body, use)
    return await respond(request, user_id, partial(search.run, body, user_id, use), body, use)


@router.post(
    "/search/two-pass",
    summary="Search documents linked to an entity",
    response_model=SearchAnswer,
    responses=problems.PAGED_SEARCH,
)
async def search_two_pass(
    body: Annotated[SearchRequest, Body(openapi_examples=_TWO_PASS_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.ReadUse,
) -> Response:
    """Recognise entities in the query, search the documents linked to them, then all others.

    This is a search with `ranking.guidance.mode: force`. If no entity is recognised, it is a plain search: see
    `search_mode` and `hints`.
    """
    check_vector(body, use)
    query = body.guided(mode=body.ranking.guidance.mode or "force")
    return await respond(request, user_id, partial(search.run, query, user_id, use), body, use)


@router.post(
    "/similar",
    operation_id="similar",
    summary="Find similar passages",
    response_model=SearchAnswer,
    responses={**problems.PAGED_SEARCH, **problems.responses(404)},
)
async def find_similar(
    body: Annotated[SimilarRequest, Body(openapi_examples=_SIMILAR_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.ReadUse,
) -> Response:
    """Find the passages with the highest cosine similarity to a vector or to a stored chunk, without that chunk."""
    check_vector(body, use)
    return await respond(request, user_id, lambda _: similar.run(body, user_id, use), body, use)


def check_vector(body: SearchRequest | SimilarRequest, use: Services) -> None:
    """Raises `invalid_vector` if the vector's length differs from that of the stored vectors."""
    if body.vector is not None:
        field_types.expect_dimension(body.vector, use.embedder.model.dimension)


async def respond(
    request: Request,
    user_id: str,
    run: Callable[[Turn], Awaitable[Answer]],
    body: SearchRequest | SimilarRequest,
    use: Services,
) -> Response:
    """Run a search when it is the user's turn, record the answer for metrics and logs, and return it as a response."""
    answer = await admission.in_turn(request, user_id, run)
    answer = await answer_hints.complete(answer, body.filters, user_id, db=use.db)
    request.state.answer, request.state.timings = answer, answer.timings
    return await responses.json(responses.cost_of(answer), partial(response_of, answer))
