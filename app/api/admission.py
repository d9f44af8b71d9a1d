"""How many searches run at once, and what happens to the others?

A few run, some wait their turn, the rest are told at once to come back: a queue without end would make all of
them late.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from starlette.requests import Request

from app import errors
from app.api import leaving

T = TypeVar("T")


class Gate:
    """Lets `running` searches through at once and `waiting` more queue for their turn."""

    def __init__(self, *, running: int, waiting: int) -> None:
        self._turns = asyncio.Semaphore(running)
        self._running = 0
        self._most_waiting = waiting
        self._waiting = 0

    @property
    def running(self) -> int:
        """Searches that hold a turn now."""
        return self._running

    @property
    def waiting(self) -> int:
        """Searches that wait for a turn now."""
        return self._waiting

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and hold it. Raises Overloaded where too many wait already."""
        if self._turns.locked() and self._waiting >= self._most_waiting:
            raise errors.Overloaded("Too many searches are running; try again shortly.")
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._turns.release()


async def admitted(request: Request, story: Callable[[], Awaitable[T]]) -> T:
    """What `story` tells when its turn at the application's gate has come.

    A caller who leaves gives up the turn, or the place in the queue. Raises Overloaded, ClientDisconnect.
    """
    gate: Gate = request.app.state.gate

    async def in_turn() -> T:
        async with gate.turn():
            return await story()

    return await leaving.unless_gone(request, in_turn)
