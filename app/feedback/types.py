"""Defines feedback on the hits of searches: what a caller says, and what is stored of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.requests import field_types

if TYPE_CHECKING:
    from app.settings import Settings


class FeedbackRequest(field_types.WireModel):
    """Whether a passage helped with a query: give exactly one of `chunk_id` and `document_id`."""

    query: field_types.QueryText = Field(examples=["How did we fix the sync interval of the buoys?"])
    chunk_id: UUID | None = Field(None, description="The passage.")
    document_id: UUID | None = Field(None, description="A document as a whole.")
    helpful: field_types.Flag | None = Field(description="Whether it helped; null withdraws what was said before.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.chunk_id is None) == (self.document_id is None):
            raise PydanticCustomError("one_of", "Give either chunk_id or document_id, and only one of them.")
        return self


@dataclass(frozen=True, slots=True)
class GivenFeedback:
    """Stored feedback, with the document that it is about."""

    query: str
    helpful: bool
    document_id: UUID
    uri: str | None


@dataclass(frozen=True, slots=True)
class FeedbackOptions:
    """For how many days feedback is kept, 0 for none at all."""

    days: int = 180


def options(settings: Settings) -> FeedbackOptions:
    """The options in the settings."""
    return FeedbackOptions(settings.feedback_days)
