"""Serves the search for entities."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Body, Request, Response

from app.http import admission, auth, bodies, problems, responses
from app.search.api_models import EntitySearchResponse
from app.search.steps.entity_guidance import entity_search

router = bodies.router("search", bodies.SearchRoute)
_EXAMPLES = {
    "name": {"summary": "A name in another spelling", "value": {"query": "Cliff Clarke"}},
    "misspelt": {"summary": "A misspelt name of a person", "value": {"query": "Devika Sarroj", "type": "person"}},
}


@router.post(
    "/entities/search",
    summary="Search entities",
    response_model=EntitySearchResponse,
    responses=problems.SEARCH,
)
async def search_entities(
    body: Annotated[entity_search.EntitySearchRequest, Body(openapi_examples=_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.ReadUse,
) -> Response:
    """Find the entities that a text names in any spelling, or describes by role, team, facts or meaning.

    `matched_by` is the kind of the best match. Names weigh most, then meaning, roles and teams, then facts.
    """
    answer = await admission.in_turn(request, user_id, partial(entity_search.run, body, user_id, use))
    size = responses.HIT_COST * len(answer.entities)
    return await responses.json(size, partial(EntitySearchResponse.of, answer))
