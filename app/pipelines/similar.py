"""Which chunks are nearest in meaning to this one?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app import errors
from app.pipelines import search
from app.ranking import confidence, steering
from app.shapes import Answer, Filters, Hit, Recall, Recalled, Vector, Weights
from app.store import recall
from app.store.db import Database, Reading, rereading

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


async def run(like: Likeness, *, db: Database, budget: search.Budget | None = None) -> Answer:
    """The nearest chunks by cosine similarity.

    Raises NotFound where the chunk is nobody's or another user's, DatabaseUnavailable, and DeadlineExceeded when
    `budget.whole_s` is over.
    """
    course = search.Course()
    try:
        async with asyncio.timeout((budget or search.Budget()).whole_s):
            with course.timed("total"):
                found = await _nearest(like, db=db)
    except TimeoutError as error:
        raise errors.DeadlineExceeded("The search did not finish within its time limit.") from error
    return _answered(like, found, course)


@rereading
async def _nearest(like: Likeness, *, db: Database) -> Recalled:
    async with db.reading(like.user_id, candidates=like.candidates) as reading:
        ask = Recall(
            user_id=like.user_id,
            vector=await _vector(like, reading),
            lexical=None,
            weights=PLAN.weights,
            fusion=PLAN.fusion,
            limit=like.limit,
            candidates=like.candidates,
            filters=like.filters,
            exclude_chunk_ids=_excluded(like),
        )
        return await recall.hybrid(reading, ask)


def _excluded(like: Likeness) -> tuple[UUID, ...]:
    return like.exclude_chunk_ids + ((like.chunk_id,) if like.chunk_id else ())


def _answered(like: Likeness, found: Recalled, course: search.Course) -> Answer:
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
        fallback_reason=None if hits else search.why_empty(like.filters, _excluded(like), found),
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
