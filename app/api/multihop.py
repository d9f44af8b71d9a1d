"""Searching over several hops, and merging lists, over HTTP."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from app.api import admission, auth, bodies, problems, replies
from app.api.multihop_models import MultihopRequest, MultihopResponse, RerankRequest, RerankResponse
from app.pipelines import merge_lists, multihop, offload

router = APIRouter(prefix="/api/rag", tags=["search"], route_class=bodies.SearchRoute)
lists_router = APIRouter(prefix="/api/rag", tags=["search"], route_class=bodies.ListsRoute)

_QUESTIONS = {
    "two documents": {
        "summary": "The answer is in another document than the question's words",
        "value": {"query": "Who leads the team that looks after the Gannet buoys?"},
    },
    "explained": {
        "summary": "Up to three hops, filtered and explained",
        "value": {
            "query": "Which vendor replaced the one that failed in the March outage?",
            "max_hops": 3,
            "extractor": "entities",
            "explain": True,
        },
    },
}
_LISTS = {
    "two systems": {
        "summary": "Two searches",
        "value": {
            "lists": [
                {"name": "ours", "hits": [{"chunk_id": "a"}, {"chunk_id": "b"}]},
                {"name": "theirs", "weight": 0.5, "hits": [{"chunk_id": "b"}, {"chunk_id": "c"}]},
            ]
        },
    },
    "re-ranked": {
        "summary": "Two searches, re-ranked against a question and told apart",
        "value": {
            "query": "Why do the buoys not report every minute?",
            "lists": [{"name": "theirs", "hits": [{"chunk_id": "a", "content": "Their batteries would not last."}]}],
            "rerank": "provider",
            "mmr": True,
        },
    },
}


@router.post(
    "/search/multihop",
    operation_id="search_multihop",
    summary="Find passages over several hops",
    responses=problems.responses(400, 401, 403, 408, 413, 415, 422, 429, 503, 504),
)
async def search_multihop(
    asked: Annotated[MultihopRequest, Body(openapi_examples=_QUESTIONS)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.Use,
) -> MultihopResponse:
    """Search, follow the names in what was found, and order everything against the question.

    Later hops never fail the request: `hops` and `degraded` tell what happened.
    """
    question = asked.shape(user_id, candidates=use.candidates, k=use.rrf_k)
    answer = await admission.in_turn(request, user_id, partial(multihop.run, question, use))
    request.state.answer, request.state.timings = answer, answer.timings
    return MultihopResponse.of(answer)


@lists_router.post(
    "/rerank",
    operation_id="rerank",
    summary="Merge lists of hits",
    response_model=RerankResponse,
    responses=problems.responses(400, 401, 403, 408, 413, 415, 422, 429, 503, 504),
)
async def merge(
    asked: Annotated[RerankRequest, Body(openapi_examples=_LISTS)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.Use,
) -> Response:
    """Fuse lists of hits from several searches, hops or systems into one, with the parts of each score.

    It is arithmetic, unless `rerank` or `mmr` asks what stored chunks say. A re-ranking that fails leaves the order.
    """
    size = len(await request.body())
    merging = await offload.run(size, asked.shape, user_id)
    merged = await admission.in_turn(request, user_id, partial(merge_lists.run, merging, use))
    return await replies.json(size, lambda: RerankResponse.of(merged, asked.merge))
