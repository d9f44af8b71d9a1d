"""Serves the endpoints of a user's synonyms."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body

from app.http import auth, bodies, problems
from app.search.steps.synonyms import synonyms
from app.search.steps.synonyms.models import StoredGroup, StoredSynonyms, SynonymCounts, Synonyms

router = APIRouter(prefix="/api/rag", tags=["search"], route_class=bodies.StrictRoute, responses=problems.AUTHENTICATED)

_EXAMPLES: dict[str, Any] = {
    "groups": {
        "summary": "Two words and a phrase that mean the same, and a word that stands for two others",
        "value": {
            "groups": [
                {"terms": ["buoy", "float", "drifting sensor"]},
                {"terms": ["building material"], "expand_to": ["mortar", "brick"]},
            ]
        },
    },
    "none": {"summary": "Remove all groups", "value": {"groups": []}},
}


@router.get("/synonyms", operation_id="get_synonyms", summary="Read the synonyms")
async def get(user_id: auth.Searcher, use: auth.ReadUse) -> StoredSynonyms:
    """The user's groups of words and phrases that are searched for one another."""
    return StoredSynonyms(groups=[StoredGroup.of(group) for group in await synonyms.get(user_id, db=use.db)])


@router.put("/synonyms", operation_id="set_synonyms", summary="Replace the synonyms", responses=problems.WRITE)
async def put(
    body: Annotated[Synonyms, Body(openapi_examples=_EXAMPLES)], user_id: auth.Writer, use: auth.Use
) -> SynonymCounts:
    """Store groups in place of all that are stored. They take effect at once; nothing is indexed again.

    A query that contains a word or phrase of a group also searches its other ones by words, with half the weight.
    """
    groups = [group.shape() for group in body.groups]
    await synonyms.put(user_id, groups, db=use.db)
    return SynonymCounts.of(groups)
