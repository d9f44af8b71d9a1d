"""Which chunks are nearest in meaning to this one?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app import errors
from app.pipelines import search
from app.ranking import confidence, steering
from app.shapes import Answer, Filters, Hit, Recall, Vector, Weights
from app.store import recall
from app.store.db import Database, Reading

PLAN = steering.Plan(Weights(1.0, 0.0), "rrf")


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is looked for: neighbours of a stored chunk (never itself) or of a vector; exactly one is given."""

    user_id: str
    chunk_id: UUID | None = None
    vector: Sequence[float] | None = None
    limit: int = 5
    filters: Filters = field(default_factory=Filters)
    exclude_chunk_ids: tuple[UUID, ...] = ()
    candidates: int = 100


async def run(like: Likeness, *, db: Database) -> Answer:
    """The nearest chunks by cosine similarity. Raises NotFound where the chunk is nobody's or another user's."""
    course = search.Course()
    with course.timed("total"):
        async with db.reading(like.user_id, candidates=like.candidates) as reading:
            vector = await _vector(like, reading)
            excluded = like.exclude_chunk_ids + ((like.chunk_id,) if like.chunk_id else ())
            ask = Recall(
                user_id=like.user_id,
                vector=vector,
                lexical=None,
                weights=PLAN.weights,
                fusion=PLAN.fusion,
                limit=like.limit,
                candidates=like.candidates,
                filters=like.filters,
                exclude_chunk_ids=excluded,
            )
            found = await recall.hybrid(reading, ask)
    hits = tuple(
        Hit(candidate, confidence.of(candidate, query_type="keyword", exact=False, relaxed=False), ("vector",))
        for candidate in found.candidates
    )
    return Answer(
        hits=hits,
        confidence=hits[0].confidence if hits else None,
        strategies_matched=("vector",) if hits else (),
        query_type=None,
        mode="semantic",
        fusion=PLAN.fusion,
        search_mode="flat",
        fallback_reason=None if hits else search.why_empty(like.filters, excluded, found),
        approximate=found.approximate and len(hits) < like.limit,
        degraded=(),
        relaxed=(),
        timings=course.timings,
    )


async def _vector(like: Likeness, reading: Reading) -> Vector:
    if like.chunk_id is not None:
        return await recall.vector_of(reading, like.user_id, like.chunk_id)
    if like.vector is None:
        raise errors.BadRequest("Give a chunk_id or a vector.", field="chunk_id")
    return list(like.vector)
