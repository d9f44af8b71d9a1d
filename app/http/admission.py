"""Limits how many requests of a kind run at once, and how many requests a user sends in a minute.

A search takes its turn after it is authenticated, read and validated, so that neither an invalid key nor a slow body
holds one. An upload takes its turn once its body has been received; bodies over 1 MB are on disk until then, and their
number is limited too. Ordinary reads, such as listings and statistics, have a limiter of their own: many connections of
a user then hold neither all connections to the database nor the event loop.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from cachetools import TTLCache
from fastapi import FastAPI
from starlette.requests import ClientDisconnect, Request

from app import errors
from app.concurrency.limiter import Limiter, Turn
from app.http.metrics import Metrics
from app.services import Services

T = TypeVar("T")
READS, READS_OF_USER, READS_WAITING = 8, 2, 500
READ_WAIT_S = 3.0
"""How long a read waits for its turn: about as long as it waits for a connection to a database that is frozen."""
BODIES, BODIES_OF_USER = 64, 16
"""Requests with a body, other than searches, that a process receives and answers at once."""
UPLOADS, UPLOADS_OF_USER = 4, 2
"""Most uploads that run at once, in all and per user. Several processes share them; each then runs two."""
FETCHES, FETCHES_OF_USER = 4, 2
"""Pages that are fetched at once; each is held in memory until it is stored."""
STREAMS, STREAMS_OF_USER = 100, 25
"""Streams of events that a process serves at once."""
WAITING, WAIT_S = 128, 10.0
"""Most bodies, uploads and pages that wait, and the seconds that each waits at most."""


WINDOW_S = 60
MAX_BUCKETS = 100_000
"""Users whose requests are counted at once."""


def install(app: FastAPI, searches: Limiter, *, processes: int, rate_limit_user: int) -> None:
    """Set the limiters of an application, one of `processes`, and their gauges. Call it after `metrics.install`.

    `rate_limit_user`: the requests per minute of each user; 0 is no limit.
    """
    uploads = max(2, UPLOADS // processes)
    uploads_of_user = min(UPLOADS_OF_USER, uploads - 1)
    waiting = partial(Limiter, max_waiting=WAITING, timeout_s=WAIT_S)
    state = app.state
    state.rate_limit = RateLimit(rate_limit_user) if rate_limit_user else None
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


async def cancel_on_disconnect(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, unless the client disconnects first: then it is cancelled and ClientDisconnect raised.

    The framework would run it to its end, and with it a statement in the database. The body must have been read.
    """
    try:
        async with asyncio.timeout(None) as scope:
            watching = asyncio.create_task(_expire_on_disconnect(scope, request))
            try:
                return await work()
            finally:
                watching.cancel()
    except TimeoutError:
        if scope.expired():
            raise ClientDisconnect from None
        raise


async def _expire_on_disconnect(scope: asyncio.Timeout, request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
    scope.reschedule(0)


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

    return await cancel_on_disconnect(request, run)


@dataclass(frozen=True, slots=True)
class Spent:
    """What is left of a quota after a request: whole requests, and the seconds until the quota is full again."""

    remaining: int
    reset_s: int
    retry_after_s: int | None = None
    """If the request exceeds the limit: the seconds until one is allowed."""


class RateLimit:
    """One quota of `quota` requests per minute for each user. `clock` in seconds.

    A token bucket holds a minute's quota and fills up continuously: the generic cell rate algorithm (ITU-T I.371),
    which needs one number per bucket. The counts belong to this process. Responses carry the headers of the IETF draft
    "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers).
    """

    def __init__(self, quota: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.quota = quota
        self._clock = clock
        self._interval_s = WINDOW_S / quota
        self._full_at: TTLCache[str, float] = TTLCache(MAX_BUCKETS, ttl=WINDOW_S, timer=clock)

    def spend(self, user: str) -> Spent:
        """Take one request out of a user's bucket; an empty one stays as it is."""
        now = self._clock()
        full_at = max(now, self._full_at.get(user, now)) + self._interval_s
        excess_s = full_at - now - WINDOW_S
        if excess_s > 1e-9:
            return Spent(0, math.ceil(full_at - self._interval_s - now), max(1, math.ceil(excess_s)))
        self._full_at[user] = full_at
        return Spent(int(-excess_s / self._interval_s + 1e-6), math.ceil(full_at - now))

    def count(self, request: Request, *, user: str) -> None:
        """Count one request of a user, and have the response say what is left. Raises `rate_limited`."""
        spent = self.spend(user)
        request.state.response_headers = {
            "RateLimit-Policy": f'"user";q={self.quota};w={WINDOW_S}',
            "RateLimit": f'"user";r={spent.remaining};t={spent.reset_s}',
        }
        if spent.retry_after_s:
            raise errors.RequestRefused(
                "The limit of requests per minute is reached.", retry_after_s=spent.retry_after_s, code="rate_limited"
            )
