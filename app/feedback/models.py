"""Defines the request and response models of feedback."""

from __future__ import annotations

from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from app.feedback.types import Feedback
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

    def shape(self) -> Feedback:
        """The judgement as a core type."""
        return Feedback(self.query, self.helpful, self.chunk_id, self.document_id)


class FeedbackResult(BaseModel):
    """What is stored now."""

    document_id: UUID = Field(description="The document that was judged.")
    helpful: bool | None = Field(None, description="The stored judgement; null if it was withdrawn.")
