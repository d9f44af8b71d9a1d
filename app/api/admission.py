"""What becomes of a search when others are running?

It is given a place at the door, before anything is read, looked up or parsed for it, or it is told at once to come
back: in a burst, refusing late costs so much that those who were admitted have to wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app import errors
from app.api import leaving, metrics, problems, request_ids
from app.api.gate import Gate

T = TypeVar("T")
SEARCHES = frozenset(
    f"/api/rag/{path}" for path in ("search", "search/two-pass", "search/multihop", "similar", "rerank")
)
_BUSY = "Too many searches are running; try again shortly."
_TOLD_EVERY_S = 1.0
_AT_A_STEP = 4
_PAUSE_S = 0.028
"""How long at most the first who is turned away waits: those who are let in have the cores to themselves meanwhile."""

_logger = logging.getLogger(__name__)


async def admitted(request: Request, story: Callable[[], Awaitable[T]]) -> T:
    """What `story` tells when its turn at the application's gate has come.

    A caller who leaves gives up the turn, or the place in the queue. Raises Overloaded, ClientDisconnect.
    """
    gate: Gate = request.app.state.gate
    place = request.state.place

    async def in_turn() -> T:
        if not await asyncio.shield(place.turn):
            raise errors.Overloaded(_BUSY)
        return await story()

    told = await leaving.unless_gone(request, in_turn)
    gate.leave(place, served=True)
    return told


def install(app: FastAPI, gate: Gate) -> None:
    """Let searches through one gate. Call it last, so that turning one away costs nothing else."""
    app.state.gate = gate
    app.add_middleware(Shedding, gate=gate, counts=app.state.metrics)


class Shedding:
    """Gives searches their places, and turns away those that would wait too long.

    Each that is turned away is counted; the log has one line a second for them, with their number.
    """

    def __init__(self, app: ASGIApp, gate: Gate, counts: metrics.Metrics) -> None:
        self.app = app
        self._gate = gate
        self._counts = counts
        self._line: deque[asyncio.Future[None]] = deque()
        self._pause: asyncio.TimerHandle | None = None
        self._away: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in SEARCHES or scope["method"] != "POST":
            await self.app(scope, receive, send)
        elif (place := self._gate.enter(scope["path"], _caller(scope))) is None:
            await self._turn_away(scope, receive, send)
        else:
            scope.setdefault("state", {})["place"] = place
            try:
                await self.app(scope, receive, send)
            finally:
                self._gate.leave(place)
                if self._pause and not self._gate.running:
                    self._pause.cancel()
                    self._advance()

    async def _turn_away(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = self._gate.clock()
        await self._in_line()
        busy, wait = errors.Overloaded, {"Retry-After": str(errors.Overloaded.retry_after_s)}
        scope.setdefault("state", {})["request_id"] = request_ids.chosen(scope)
        await problems.respond(scope, busy.status, _BUSY, code=busy.code, headers=wait)(scope, receive, send)
        self._counts.request(scope["method"], scope["path"], busy.status, self._gate.clock() - began)
        if not self._away:
            asyncio.get_running_loop().call_later(_TOLD_EVERY_S, self._tell)
        self._away[scope["path"]] += 1

    async def _in_line(self) -> None:
        """Wait for those who are turned away before: a few at each step of the loop, between those of the searches.

        Somebody at the end of the line costs nothing while it waits; were each to count steps, a burst's cost would
        grow with its square.
        """
        loop = asyncio.get_running_loop()
        told = loop.create_future()
        if not self._line:
            self._pause = loop.call_later(_PAUSE_S, self._advance)
        self._line.append(told)
        await told

    def _advance(self) -> None:
        self._pause = None
        for _ in range(min(_AT_A_STEP, len(self._line))):
            told = self._line.popleft()
            if not told.done():
                told.set_result(None)
        if self._line:
            asyncio.get_running_loop().call_soon(self._advance)

    def _tell(self) -> None:
        _logger.warning("searches turned away", extra={"action": "turned_away", "paths": dict(self._away)})
        self._away.clear()


def _caller(scope: Scope) -> Hashable:
    """What tells callers apart before anybody looks at their keys: the key as it was presented."""
    return next((value for name, value in scope["headers"] if name in (b"authorization", b"x-api-key")), None)
