"""Measures how long the stages of an ingest take, for a caller that asks for it.

Stages overlap, so their times may add up to more than the whole. Nobody who does not ask pays for it.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypeVar

T = TypeVar("T")
Stage = Literal["parsing", "recognition", "cutting", "model", "database"]


@dataclass(slots=True)
class StageTimes:
    """The seconds during which each stage was busy; work of one stage at the same time counts once.

    `pictures` is the number of pages and pictures that were recognised, `page` the page of the file that is read at
    which recognition is, and the number of its pages.
    """

    seconds: dict[Stage, float] = field(default_factory=lambda: defaultdict(float))
    pictures: int = 0
    page: tuple[int, int] | None = None
    _running: Counter[Stage] = field(default_factory=Counter)
    _since: dict[Stage, float] = field(default_factory=dict)

    def begin(self, stage: Stage) -> None:
        """Note that some work of a stage begins."""
        if not self._running[stage]:
            self._since[stage] = time.monotonic()
        self._running[stage] += 1

    def end(self, stage: Stage) -> None:
        """Note that some work of a stage has ended."""
        self._running[stage] -= 1
        if not self._running[stage]:
            self.seconds[stage] += time.monotonic() - self._since.pop(stage)

    def is_running(self, stage: Stage) -> bool:
        """Whether some work of a stage runs."""
        return self._running[stage] > 0

    def so_far(self) -> dict[Stage, float]:
        """The seconds of each stage, work that has not ended included."""
        now = time.monotonic()
        return {
            stage: self.seconds.get(stage, 0.0) + (now - self._since[stage] if stage in self._since else 0.0)
            for stage in {*self.seconds, *self._since}
        }


_measured: ContextVar[StageTimes | None] = ContextVar("measured", default=None)


@contextmanager
def measuring(times: StageTimes) -> Iterator[None]:
    """Measure the stages of the work in the block, and of the tasks that it starts."""
    token = _measured.set(times)
    try:
        yield
    finally:
        _measured.reset(token)


async def waiting(name: Stage, items: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The items of a generator; the time in which each is made is counted to a stage."""
    async with aclosing(items):
        while True:
            try:
                with stage(name):
                    item = await anext(items)
            except StopAsyncIteration:
                return
            finally:
                if (times := _measured.get()) is not None:
                    times.page = None
            yield item


@contextmanager
def stage(name: Stage) -> Iterator[None]:
    """Count the time of the block to a stage."""
    times = _measured.get()
    if times is None:
        yield
        return
    times.begin(name)
    try:
        yield
    finally:
        times.end(name)


@contextmanager
def recognising(page: int, pages: int) -> Iterator[None]:
    """Count the time of the block, within parsing, to recognition instead, and the picture that is recognised in it."""
    times = _measured.get()
    if times is None:
        yield
        return
    times.page = (page, pages) if pages else None
    parses = times.is_running("parsing")
    if parses:
        times.end("parsing")
    try:
        with stage("recognition"):
            yield
    finally:
        if parses:
            times.begin("parsing")
    times.pictures += 1
