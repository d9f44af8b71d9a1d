"""Defines the levels of `answerable` from which an answer is likely, not doubtful, and possible."""

from __future__ import annotations

LIKELY, DOUBTFUL, POSSIBLE = 0.5, 0.3, 0.1


def is_doubtful(answerable: float | None) -> bool:
    """Returns whether agents should search again before they rely on the hits. False if `answerable` is unknown."""
    return answerable is not None and answerable < DOUBTFUL


def is_unlikely(answerable: float | None) -> bool:
    """Returns whether probably no hit answers the query. False if `answerable` is unknown.

    Answers in other words than the question, and answers over several hops, are often doubtful but rarely unlikely.
    """
    return answerable is not None and answerable < POSSIBLE
