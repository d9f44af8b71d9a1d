"""Serves the endpoint that takes feedback on the hits of searches."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request

from app.feedback import feedback
from app.feedback.models import FeedbackRequest, FeedbackResult
from app.http.authentication import auth
from app.http.bodies import bodies
from app.http.problems import problems

router = APIRouter(prefix="/api/rag", tags=["search"], route_class=bodies.SearchRoute, responses=problems.AUTHENTICATED)

_EXAMPLES: dict[str, Any] = {
    "helpful": {
        "summary": "A passage that helped",
        "value": {
            "query": "Why do the buoys not report every minute?",
            "chunk_id": "e0e5bc55-fb8e-5779-add3-0a16a3709a5c",
            "helpful": True,
        },
    }
}


@router.post(
    "/feedback",
    operation_id="give_feedback",
    summary="Say whether a passage helped",
    responses={**problems.WRITE, **problems.responses(404)},
)
async def give(
    given: Annotated[FeedbackRequest, Body(openapi_examples=_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.Use,
) -> FeedbackResult:
    """Store with the query whether a passage, or a document as a whole, helped; a later judgement replaces it.

    Judgements calibrate `relevance` where the owner of the documents wants it (`stepwell calibrate --feedback`). They
    are deleted with the document, and after STEPWELL_FEEDBACK_DAYS days. Nothing else stores a query.
    """
    document_id = await feedback.give(given.shape(), user_id, use)
    request.state.feedback = given.helpful
    return FeedbackResult(document_id=document_id, helpful=given.helpful)
