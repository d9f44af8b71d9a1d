"""Words and vectors of hybrid queries, and selectors of their candidates."""

import math
from uuid import UUID

from app.enums import Vector
from app.query.search_types import Candidate, HybridResult

WORDS = [
    "harbour", "lantern", "river", "castle", "violin", "copper", "meadow", "thunder", "pepper", "saddle", "marble",
    "orchid",
]  # fmt: skip


def at(*first: float) -> Vector:
    """A vector that begins with these numbers, in the dimension of the tests' database."""
    return [*map(float, first), *([0.0] * (64 - len(first)))]


def angled(cosine: float) -> Vector:
    """A unit vector at this cosine to at(1)."""
    return at(cosine, math.sqrt(1 - cosine * cosine))


def one(found: HybridResult, content: str) -> Candidate:
    return next(candidate for candidate in found.candidates if candidate.content == content)


def ids(found: HybridResult) -> list[UUID]:
    return [candidate.chunk_id for candidate in found.candidates]
