"""Runs a call once for all concurrent callers with equal keys, and cancels it with the last of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class _Running(Generic[Result]):
    """One running call and the number of callers that wait for it."""

    task: asyncio.Task[Result]
    waiters: int = 0


class SingleFlight(Generic[Key, Result]):
    """At most one running call per key.

    A call survives the cancellation of a caller and is cancelled with the last one, so that a call that hangs does not
    block a later one. A failure is raised to every caller that waits.
    """

    def __init__(self) -> None:
        self._flights: dict[Key, _Running[Result]] = {}

    async def join(self, key: Key, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """The result of the running call for `key`, or of a new one. Raises what the call raises."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Running(asyncio.create_task(call()))
            flight.task.add_done_callback(partial(self._finish, key, flight))
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                self._remove(key, flight)
                flight.task.cancel()

    def _finish(self, key: Key, flight: _Running[Result], task: asyncio.Task[Result]) -> None:
        self._remove(key, flight)
        # Reading the exception marks it as retrieved when every caller has left.
        if not task.cancelled():
            task.exception()

    def _remove(self, key: Key, flight: _Running[Result]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
