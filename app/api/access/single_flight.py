"""Runs a coroutine once for all concurrent callers with equal keys, and to its end even if all are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """At most one run per key at a time; a caller that is cancelled does not cancel the run for the others."""

    def __init__(self) -> None:
        self._runs: dict[Hashable, asyncio.Task[T]] = {}

    async def run(self, key: Hashable, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of the run in progress for `key`, or of a new one. Raises what the run raises."""
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = asyncio.create_task(call())
            run.add_done_callback(lambda done: self._finished(key, done))
        return await asyncio.shield(run)

    def _finished(self, key: Hashable, run: asyncio.Task[T]) -> None:
        del self._runs[key]
        if not run.cancelled():
            run.exception()  # marks it as retrieved, where every caller has left
