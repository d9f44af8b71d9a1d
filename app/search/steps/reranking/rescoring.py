"""Orders hits by new scores of the best ones.

`cosine` blends: `w · cosine + (1 − w) · score`, by default with w = 0.5. A provider's score replaces the score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rescored:
    """The position of a hit in the input, from 0, and its new score."""

    position: int
    score: float


def blend(score: float, cosine: float | None, *, weight: float) -> float:
    """Returns a score blended with the cosine; a negative cosine counts 0, None changes nothing."""
    return score if cosine is None else weight * min(1.0, max(0.0, cosine)) + (1 - weight) * score


def order(scores: Sequence[float], again: Mapping[int, float]) -> list[Rescored]:
    """Returns the hits with a new score by that score, ties in input order, then the others in input order.

    `again` maps positions to new scores. The scores of the others are capped at the lowest new score, so that scores
    never increase down the list.
    """
    first = sorted((Rescored(position, score) for position, score in again.items()), key=_order)
    lowest = first[-1].score if first else math.inf
    rest = [Rescored(position, min(score, lowest)) for position, score in enumerate(scores) if position not in again]
    return first + rest


def _order(rescored: Rescored) -> tuple[float, int]:
    return (-round(rescored.score, 12), rescored.position)
