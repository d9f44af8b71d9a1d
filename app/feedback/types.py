"""Defines feedback on the hits of searches: what a caller says, and what is stored of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from app.settings import Settings


@dataclass(frozen=True, slots=True)
class Feedback:
    """Whether a passage, or a document as a whole, helped with a query; `helpful` None withdraws what was said.

    Exactly one of `chunk_id` and `document_id` is given.
    """

    query: str
    helpful: bool | None
    chunk_id: UUID | None = None
    document_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class GivenFeedback:
    """Stored feedback, with the document that it is about."""

    query: str
    helpful: bool
    document_id: UUID
    chunk_id: UUID | None
    uri: str | None
    title: str
    at: datetime


@dataclass(frozen=True, slots=True)
class FeedbackOptions:
    """For how many days feedback is kept, 0 for none at all."""

    days: int = 180


def options(settings: Settings) -> FeedbackOptions:
    """The options in the settings."""
    return FeedbackOptions(settings.feedback_days)
