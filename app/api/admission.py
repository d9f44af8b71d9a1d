"""How many searches run at once, and what happens to the others?

A few run, some wait their turn, the rest are told at once to come back: a queue without end would make all of
them late.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app import errors
from app.api import leaving, problems

T = TypeVar("T")
SEARCHES = frozenset({"/api/rag/search", "/api/rag/search/multihop", "/api/rag/similar"})
_BUSY = "Too many searches are running; try again shortly."


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
            raise errors.Overloaded(_BUSY)
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


def install(app: FastAPI, *, running: int, waiting: int) -> None:
    """Let so many searches run and wait at once. Call it after `problems.install`."""
    app.state.gate = Gate(running=running, waiting=waiting)
    app.add_middleware(Shedding, most=running + waiting)


class Shedding:
    """Turns searches beyond `most` away before anything is read, looked up or parsed for them.

    In a burst, refusing late costs so much that those who were admitted have to wait for it.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app = app
        self._most = most
        self._present = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in SEARCHES:
            await self.app(scope, receive, send)
        elif self._present >= self._most:
            busy, wait = errors.Overloaded, {"Retry-After": str(errors.Overloaded.retry_after_s)}
            await problems.respond(scope, busy.status, _BUSY, code=busy.code, headers=wait)(scope, receive, send)
        else:
            self._present += 1
            try:
                await self.app(scope, receive, send)
            finally:
                self._present -= 1
