"""Serves the endpoint for multi-hop search."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Body, Request, Response

from app import errors
from app.http import auth, bodies, problems
from app.query.search_request import SearchRequest
from app.search import api as search_api
from app.search import search
from app.search.api_models import SearchAnswer

router = bodies.router("search", bodies.SearchRoute)

_MULTIHOP_EXAMPLES = {
    "two documents": {
        "summary": "The answer is in a document without the words of the question",
        "value": {"query": "Which musical instrument does the author of the backfill guide play?"},
    },
    "explained": {
        "summary": "Up to three hops, filtered and explained",
        "value": {
            "query": "How long is the warranty on the battery that swelled at Hallin Reservoir?",
            "filters": {"folder": "sample"},
            "explain": True,
            "ranking": {"hops": {"max_hops": 3, "extractor": "entities"}},
        },
    },
}


@router.post(
    "/search/multihop",
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

    An error in a later hop does not fail the request: see `hops` and `degraded`.
    """
    query = _over_hops(body)
    return await search_api.respond(request, user_id, partial(search.run, query, user_id, use), query, use)


def _over_hops(query: SearchRequest) -> SearchRequest:
    """Sets the depth to several hops. Raises BadRequest if the request asks for another depth."""
    if "depth" in query.model_fields_set and query.depth != "thorough":
        raise errors.BadRequest("This search always goes over several hops: leave depth out.", field="depth")
    return query.changed(depth="thorough")
