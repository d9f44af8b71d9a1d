"""Defines from which `answerable` an answer is called likely, or at least possible."""

from __future__ import annotations

LIKELY, POSSIBLE = 0.5, 0.3


def is_unlikely(answerable: float | None) -> bool:
    """Returns whether no hit is likely to answer a query; not if that is unknown."""
    return answerable is not None and answerable < POSSIBLE
