"""Serves the endpoints for multi-hop search and for merging lists of hits."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from app.concurrency import offload
from app.http import admission, auth, bodies, problems, responses
from app.multihop.rerank_models import RerankAnswer, RerankRequest, merged_response
from app.query.search_request import SearchRequest
from app.search import depth, merge_lists
from app.search.api import router as search_router
from app.search.api.search_responses import SearchAnswer

router = APIRouter(prefix="/api/rag", tags=["search"], route_class=bodies.SearchRoute, responses=problems.AUTHENTICATED)
lists_router = APIRouter(
    prefix="/api/rag", tags=["search"], route_class=bodies.ListsRoute, responses=problems.AUTHENTICATED
)

_MULTIHOP_EXAMPLES = {
    "two documents": {
        "summary": "The answer is in a document without the words of the question",
        "value": {"query": "Which musical instrument does the author of the backfill guide play?"},
    },
    "explained": {
        "summary": "Up to three hops, filtered and explained",
        "value": {
            "query": "Who supplies the sensor that failed in the March outage?",
            "explain": True,
            "ranking": {"hops": {"max_hops": 3, "extractor": "entities"}},
        },
    },
}
# Chunks of sample/decisions/D-019-lime.md and D-014-sync-interval.md: ids of chunks follow from URI and text.
_LIME, _INTERVAL = "e0e5bc55-fb8e-5779-add3-0a16a3709a5c", "79f7ea4c-780c-5122-a1fb-774facdc3a6d"
_RERANK_EXAMPLES = {
    "two systems": {
        "summary": "Lists of two searches",
        "value": {
            "lists": [
                {"name": "ours", "hits": [{"chunk_id": "tides"}, {"chunk_id": "buoys"}]},
                {"name": "theirs", "weight": 0.5, "hits": [{"chunk_id": "buoys"}, {"chunk_id": "storms"}]},
            ]
        },
    },
    "re-ranked": {
        "summary": "Stored chunks reranked against a query, without near duplicates",
        "value": {
            "query": "Why do the buoys not report every minute?",
            "lists": [{"name": "theirs", "hits": [{"chunk_id": _LIME}, {"chunk_id": _INTERVAL}]}],
            "rerank": "cosine",
            "mmr": True,
        },
    },
}


@router.post(
    "/search/multihop",
    operation_id="search_multihop",
    summary="Search over several hops",
    response_model=SearchAnswer,
    responses=problems.PAGED_SEARCH,
)
async def search_multihop(
    body: Annotated[SearchRequest, Body(openapi_examples=_MULTIHOP_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.ReadUse,
) -> Response:
    """Search, follow names in the passages found, and order the hits of all hops.

    An error in a later hop does not fail the request; see `hops` and `degraded`.
    """
    query = depth.over_hops(body)
    return await search_router.respond(request, user_id, partial(depth.run, query, user_id, use), query, use)


@lists_router.post(
    "/rerank",
    operation_id="rerank",
    summary="Merge lists of hits",
    response_model=RerankAnswer,
    responses=problems.SEARCH,
)
async def merge(
    body: Annotated[RerankRequest, Body(openapi_examples=_RERANK_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.ReadUse,
) -> Response:
    """Fuse lists of hits from several searches, hops or systems into one, with the summands of each score.

    Stored chunks are read only for `rerank` and `mmr`. If reranking fails, the fused order is returned.
    """
    size = request.state.body_bytes
    query = await offload.run(size, body.shape, user_id)
    merged = await admission.in_turn(request, user_id, partial(merge_lists.run, query, use))
    return await responses.json(size, partial(merged_response, merged, body))
