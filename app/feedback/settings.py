"""Makes the options of feedback of the settings."""

from __future__ import annotations

from app.feedback.types import FeedbackOptions
from app.settings import Settings


def options(settings: Settings) -> FeedbackOptions:
    """The options in the settings."""
    return FeedbackOptions(settings.feedback_days)
