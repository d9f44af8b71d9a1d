"""Runs a call once for all concurrent callers with equal keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class _Run(Generic[Result]):
    """A running call and the number of callers that wait for it."""

    task: asyncio.Task[Result]
    waiters: int = 0


class SingleFlight(Generic[Result]):
    """At most one running call per key.

    A call survives the cancellation of a caller and is cancelled with the last one, so that a call that hangs does not
    block a later one. A failure is raised to every caller that waits.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, _Run[Result]] = {}

    async def run(self, key: Hashable, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """The result of the running call for `key`, or of a new one. Raises what the call raises."""
        run = self._running.get(key) or self._start(key, call)
        run.waiters += 1
        try:
            return await asyncio.shield(run.task)
        finally:
            run.waiters -= 1
            if not run.waiters and not run.task.done():
                self._remove(key, run)
                run.task.cancel()

    def _start(self, key: Hashable, call: Callable[[], Coroutine[Any, Any, Result]]) -> _Run[Result]:
        run = self._running[key] = _Run(asyncio.create_task(call()))
        run.task.add_done_callback(lambda _: self._finish(key, run))
        return run

    def _finish(self, key: Hashable, run: _Run[Result]) -> None:
        self._remove(key, run)
        if not run.task.cancelled():
            run.task.exception()  # marks it as retrieved, where every caller has left

    def _remove(self, key: Hashable, run: _Run[Result]) -> None:
        if self._running.get(key) is run:
            del self._running[key]
