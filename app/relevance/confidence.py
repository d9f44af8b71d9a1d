"""Defines the levels of confidence: names for ranges of relevance."""

from __future__ import annotations

from app.enums import Confidence

LEVELS: tuple[tuple[float, Confidence], ...] = (
    (0.7, "very_high"),
    (0.4, "high"),
    (0.2, "medium_high"),
    (0.08, "medium"),
    (0.0, "low"),
)
"""The least relevance of each level, highest first."""
UNKNOWN: Confidence = "medium"
"""The level of hits without a relevance, such as the neighbours of a vector without a text."""


def of(relevance: float | None) -> Confidence:
    """Returns the level of a relevance."""
    return UNKNOWN if relevance is None else next(level for least, level in LEVELS if relevance >= least)


def at_least(confidence: Confidence, minimum: Confidence) -> bool:
    """Returns whether `confidence` is at least `minimum`."""
    order = [level for _, level in LEVELS]
    return order.index(confidence) <= order.index(minimum)
