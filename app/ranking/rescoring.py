"""Orders hits by new scores of the best.

`cosine` blends: `w · cosine + (1 − w) · score` with w = 0.5. A provider's score replaces the score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WEIGHT = 0.5
"""Share of the cosine in the blend."""
POOL_FACTOR = 4
MIN_POOL, MAX_POOL = 25, 100


@dataclass(frozen=True, slots=True)
class Rescored:
    """Where it stood among those given, from 0, and its new score, 0 to 1."""

    position: int
    score: float


def pool_size(limit: int) -> int:
    """How many are scored again for so many wanted: four times as many, but 25 to 100."""
    return min(MAX_POOL, max(MIN_POOL, POOL_FACTOR * limit))


def blended(score: float, cosine: float | None, *, weight: float = WEIGHT) -> float:
    """A score of 0 to 1 with the cosine's share; a negative cosine counts 0, without any the score stays as it is."""
    return score if cosine is None else weight * min(1.0, max(0.0, cosine)) + (1 - weight) * score


def ordered(scores: Sequence[float], again: Mapping[int, float]) -> list[Rescored]:
    """Those scored again by their new scores, equal ones as they stood; then the others as they stood.

    `again` maps places to scores. The others score at most what the last of the first does, so that the list falls.
    """
    first = sorted((Rescored(place, score) for place, score in again.items()), key=_order)
    least = first[-1].score if first else 1.0
    rest = [Rescored(place, min(score, least)) for place, score in enumerate(scores) if place not in again]
    return first + rest


def _order(rescored: Rescored) -> tuple[float, int]:
    return (-round(rescored.score, 12), rescored.position)
