"""Defines from which `answerable` on an answer is called likely or possible, and up to which it is doubted."""

from __future__ import annotations

LIKELY, DOUBTFUL, POSSIBLE = 0.5, 0.3, 0.1


def is_doubtful(answerable: float | None) -> bool:
    """Returns whether agents should search once more before they rely on the hits; not if that is unknown."""
    return answerable is not None and answerable < DOUBTFUL


def is_unlikely(answerable: float | None) -> bool:
    """Returns whether no hit is likely to answer a query; not if that is unknown.

    Answers in quite other words than the question, and over several hops, are often doubtful, and rarely unlikely.
    """
    return answerable is not None and answerable < POSSIBLE
