"""Serves the endpoint that takes feedback on the hits of searches."""

from __future__ import annotations

from typing import Annotated, Any, Self
from uuid import UUID

from fastapi import APIRouter, Body, FastAPI, Request
from prometheus_client import Counter
from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from app.feedback import feedback
from app.feedback.types import Feedback
from app.http import auth, bodies, problems
from app.requests import wire


class FeedbackRequest(wire.WireModel):
    """Whether a passage helped with a query: give exactly one of `chunk_id` and `document_id`."""

    query: wire.QueryText = Field(examples=["How did we fix the sync interval of the buoys?"])
    chunk_id: UUID | None = Field(None, description="The passage.")
    document_id: UUID | None = Field(None, description="A document as a whole.")
    helpful: wire.Flag | None = Field(description="Whether it helped; null withdraws what was said before.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.chunk_id is None) == (self.document_id is None):
            raise PydanticCustomError("one_of", "Give either chunk_id or document_id, and only one of them.")
        return self


class FeedbackResult(BaseModel):
    """What is stored now."""

    document_id: UUID = Field(description="The document that was judged.")
    helpful: bool | None = Field(None, description="The stored judgement; null if it was withdrawn.")


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
    said = Feedback(given.query, given.helpful, given.chunk_id, given.document_id)
    document_id = await feedback.give(said, user_id, use)
    judgements: Counter = request.app.state.judgements
    judgements.labels("withdrawn" if given.helpful is None else str(given.helpful).lower()).inc()
    return FeedbackResult(document_id=document_id, helpful=given.helpful)
