"""Serves the endpoint that takes feedback on the hits of searches."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, FastAPI, Request
from prometheus_client import Counter
from pydantic import BaseModel, Field

from app.feedback import operations as feedback
from app.feedback.types import FeedbackRequest
from app.http import auth, bodies, problems


class FeedbackResult(BaseModel):
    """What is stored now."""

    document_id: UUID = Field(description="The document that was judged.")
    helpful: bool | None = Field(None, description="The stored judgement; null if it was withdrawn.")


router = bodies.router("search", bodies.SearchRoute)

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


def install(app: FastAPI, _settings: object) -> None:
    """Count judgements in the application's metrics."""
    app.state.judgements = Counter(
        "stepwell_feedback",
        "Judgements of hits: true, false, withdrawn.",
        ["helpful"],
        registry=app.state.metrics.registry,
    )


@router.post(
    "/feedback",
    summary="Say whether a passage helped",
    responses={**problems.WRITE, **problems.responses(404)},
)
async def give_feedback(
    given: Annotated[FeedbackRequest, Body(openapi_examples=_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.Use,
) -> FeedbackResult:
    """Store with the query whether a passage, or a document as a whole, helped; a later judgement replaces it.

    Judgements change no answer until somebody exports them (`stepwell feedback export`) and calibrates `relevance`.
    They are deleted with the document, and after STEPWELL_FEEDBACK_DAYS days. Nothing else stores a query.
    """
    document_id = await feedback.give(given, user_id, use)
    judgements: Counter = request.app.state.judgements
    judgements.labels("withdrawn" if given.helpful is None else str(given.helpful).lower()).inc()
    return FeedbackResult(document_id=document_id, helpful=given.helpful)
