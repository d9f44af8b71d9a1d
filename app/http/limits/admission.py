"""Limits what requests of a kind run at once: searches, other reads, bodies, uploads, fetched pages, streams.

A search takes its turn after it is authenticated, read and validated, so that neither an invalid key nor a slow body
holds one. An upload takes its turn once its body has been received; bodies over 1 MB are on disk until then, and their
number is limited too. Ordinary reads, such as listings and statistics, have a limiter of their own: many connections of
a user then hold neither all connections to the database nor the event loop.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from fastapi import FastAPI
from starlette.requests import Request

from app.concurrency.limiter import Limiter, Turn
from app.http.limits import disconnects
from app.http.monitoring.metrics import Metrics
from app.services import Services

T = TypeVar("T")
READS, READS_OF_USER, READS_WAITING = 8, 2, 500
READ_WAIT_S = 3.0
"""How long a read waits for its turn: about as long as it waits for a connection to a database that is frozen."""
BODIES, BODIES_OF_USER = 64, 16
"""Requests with a body, other than searches, that a process receives and answers at once."""
UPLOADS, UPLOADS_OF_USER = 4, 2
"""Uploads that run at once. Several processes share them, but each runs two, of which a user holds one."""
FETCHES, FETCHES_OF_USER = 4, 2
"""Pages that are fetched at once; each is held in memory until it is stored."""
STREAMS, STREAMS_OF_USER = 100, 25
"""Streams of events that a process serves at once."""
WAITING, WAIT_S = 128, 10.0
"""Bodies, uploads and pages that wait, each so many seconds at most."""


def install(app: FastAPI, searches: Limiter, *, processes: int) -> None:
    """Set the limiters of an application, one of `processes`, and their gauges. Call it after `metrics.install`."""
    uploads = max(2, UPLOADS // processes)
    uploads_of_user = min(UPLOADS_OF_USER, uploads - 1)
    waiting = partial(Limiter, max_waiting=WAITING, timeout_s=WAIT_S)
    state = app.state
    state.searches = searches
    state.reads = Limiter(READS, of_user=READS_OF_USER, max_waiting=READS_WAITING, timeout_s=READ_WAIT_S)
    state.bodies = waiting(BODIES, of_user=BODIES_OF_USER, rounds="number")
    state.uploads = waiting(uploads, of_user=uploads_of_user)
    state.fetches = waiting(FETCHES, of_user=FETCHES_OF_USER, rounds="number")
    state.job_streams = Limiter(STREAMS, of_user=STREAMS_OF_USER, rounds="number", max_waiting=0, timeout_s=0)
    for name, noun, limiter in (
        ("searches", "Searches", searches),
        ("reads", "Ordinary reads", state.reads),
        ("uploads", "Uploads", state.uploads),
    ):
        _watch(state.metrics, name, noun, limiter)


def _watch(metrics: Metrics, name: str, noun: str, limiter: Limiter) -> None:
    metrics.watch(f"stepwell_{name}_running", f"{noun} that hold a turn now.", lambda: limiter.running)
    metrics.watch(f"stepwell_{name}_waiting", f"{noun} that wait for a turn now.", lambda: limiter.waiting)


async def in_turn(request: Request, user_id: str, search: Callable[[Turn], Awaitable[T]]) -> T:
    """The result of `search`, run when the user gets a turn, within the deadline of a search.

    Waiting counts towards the deadline. When the client disconnects, the search is cancelled, or no longer waits.
    Raises Overloaded, DeadlineExceeded, ClientDisconnect, and what `search` raises.
    """
    searches: Limiter = request.app.state.searches
    metrics: Metrics = request.app.state.metrics
    services: Services = request.app.state.services

    async def run() -> T:
        began = time.perf_counter()
        async with services.budget.deadline(), searches.turn(user_id) as turn:
            metrics.search_wait.observe(time.perf_counter() - began)
            return await search(turn)

    return await disconnects.cancel_on_disconnect(request, run)
