"""Limits the number of concurrent searches and of ordinary reads; the others wait and are served round-robin by user.

A search enters its queue after it is authenticated, read and validated, so that neither an invalid key nor a slow body
holds a turn. Ordinary reads, such as listings and statistics, have a queue of their own: many connections of a user
then hold neither all connections to the database nor the event loop, and the searches of others go on beside them.
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
READS, READS_OF_USER = 8, 2
"""Ordinary reads that run at once."""
READS_WAITING = 500
READ_WAIT_S = 3.0
"""How long a read waits for its turn: about as long as it waits for a connection to a database that is frozen."""


def install(app: FastAPI, searches: FairQueue) -> None:
    """Set the queues of the application's searches and reads, and their gauges. Call it after `metrics.install`."""
    app.state.searches = searches
    app.state.reads = reads = FairQueue(READS, of_user=READS_OF_USER, max_waiting=READS_WAITING, timeout_s=READ_WAIT_S)
    metrics: Metrics = app.state.metrics
    metrics.watch("stepwell_searches_running", "Searches that hold a turn now.", lambda: searches.running)
    metrics.watch("stepwell_searches_waiting", "Searches that wait for a turn now.", lambda: searches.waiting)
    metrics.watch("stepwell_reads_running", "Ordinary reads that hold a turn now.", lambda: reads.running)
    metrics.watch("stepwell_reads_waiting", "Ordinary reads that wait for a turn now.", lambda: reads.waiting)


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
