"""Limits the number of concurrent searches; the others wait and are served round-robin by user.

A request enters the queue after it is authenticated, read and validated, so that neither an invalid key nor a slow body
holds a turn.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fastapi import FastAPI
from starlette.requests import Request

from app.api.edge import disconnects
from app.api.edge.fair_queue import FairQueue, Turn
from app.api.monitoring.metrics import Metrics
from app.pipelines.running import budget
from app.pipelines.running.services import Services

T = TypeVar("T")


def install(app: FastAPI, searches: FairQueue) -> None:
    """Set the queue of the application's searches and its gauges. Call it after `metrics.install`."""
    app.state.searches = searches
    metrics: Metrics = app.state.metrics
    metrics.watch("stepwell_searches_running", "Searches that hold a turn now.", lambda: searches.running)
    metrics.watch("stepwell_searches_waiting", "Searches that wait for a turn now.", lambda: searches.waiting)


async def in_turn(request: Request, user_id: str, search: Callable[[Turn], Awaitable[T]]) -> T:
    """The result of `search`, run when the queue grants the user a turn.

    Waiting counts towards the deadline of the search. When the client disconnects, the search is cancelled or removed
    from the queue. Raises Overloaded, DeadlineExceeded, ClientDisconnect, and what `search` raises.
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
