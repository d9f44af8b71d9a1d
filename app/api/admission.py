"""Limits the number of concurrent searches; the others wait and are served round-robin by user.

A request asks for its turn when it is authenticated, read and valid, so that no unverified key and no slow body ever
holds one.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fastapi import FastAPI
from starlette.requests import Request

from app.api import disconnects
from app.api.fair_queue import FairQueue, Turn
from app.api.metrics import Metrics
from app.pipelines import budget
from app.pipelines.services import Services

T = TypeVar("T")


def install(app: FastAPI, searches: FairQueue) -> None:
    """Let the application's searches through one queue. Call it after `metrics.install`."""
    app.state.searches = searches
    metrics: Metrics = app.state.metrics
    metrics.watch("stepwell_searches_running", "Searches that hold a turn now.", lambda: searches.running)
    metrics.watch("stepwell_searches_waiting", "Searches that wait for a turn now.", lambda: searches.waiting)


async def in_turn(request: Request, user_id: str, search: Callable[[Turn], Awaitable[T]]) -> T:
    """The result of `search`, run when the user's turn has come.

    The time of waiting counts towards the deadline of the search. A client that leaves gives up its turn, or its place
    in the queue. Raises Overloaded, DeadlineExceeded, ClientDisconnect, and what `search` raises.
    """
    searches: FairQueue = request.app.state.searches
    metrics: Metrics = request.app.state.metrics
    services: Services = request.app.state.services

    async def run() -> T:
        began = time.perf_counter()
        async with budget.deadline(services.budget.whole_s), searches.turn(user_id) as turn:
            metrics.search_wait.observe(time.perf_counter() - began)
            return await search(turn)

    return await disconnects.cancel_on_disconnect(request, run)
