"""Holds the state that the steps of one search share: the opened services, timings, and degraded parts."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from app.pipelines import budget, turns
from app.pipelines.services import Services
from app.pipelines.turns import SearchTurn
from app.shapes import Degraded


@dataclass(slots=True)
class SearchContext:
    """One search in progress.

    `timings` has the duration of each stage in milliseconds, `degraded` the inputs that could not be used, `relaxed`
    the relaxations that were applied. `turn` is given back while the search waits for a remote provider.
    """

    services: Services
    user_id: str
    turn: SearchTurn = turns.UNLIMITED
    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[Degraded] = field(default_factory=list)
    relaxed: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the block's duration to the stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] = round(self.timings.get(stage, 0.0) + (time.perf_counter() - start) * 1000, 3)

    @asynccontextmanager
    async def running(self, *, work: str = "search") -> AsyncIterator[None]:
        """Time the whole search and cancel it at its deadline. Raises DeadlineExceeded."""
        async with budget.deadline(self.services.budget.whole_s, work=work):
            with self.timed("total"):
                yield
