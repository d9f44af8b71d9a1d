"""Serves the endpoint that explains why a passage is not in an answer."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Body, Request, Response

from app.http import admission, auth, bodies, problems, responses
from app.search.api import check_vector
from app.search.steps.why import why
from app.search.steps.why.api_models import Placement, WhyRequest

router = bodies.router("search", bodies.SearchRoute)
_EXAMPLES = {
    "uri": {
        "summary": "Why a note is not in the answer",
        "value": {
            "query": "Why do the buoys not report every minute?",
            "uri": "sample/decisions/D-019-lime.md",
            "filters": {"metadata": {"tags": ["decision"]}},
        },
    }
}


@router.post(
    "/search/why",
    summary="Explain why a passage is not in an answer",
    response_model=Placement,
    responses={**problems.SEARCH, **problems.responses(404)},
)
async def explain_placement(
    body: Annotated[WhyRequest, Body(openapi_examples=_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.ReadUse,
) -> Response:
    """Explain where a passage ranks in a search: its rank and score in each leg, and what keeps it out of the answer.

    `change` brings the passage in, or nearer if several things keep it out.
    """
    check_vector(body, use)
    placement, timings = await admission.in_turn(request, user_id, partial(why.run, body, user_id, use))
    request.state.timings = timings
    return await responses.json(responses.HIT_COST, lambda: placement)
