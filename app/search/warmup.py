"""Runs searches before the service accepts requests, so that the first caller waits no longer than the next.

They open the connections, have the statements planned, run the embedding model, and import what the first search would.
"""

from __future__ import annotations

import asyncio
import logging

from app import errors
from app.query.search_request import SearchRequest
from app.search import search
from app.services import Services

log = logging.getLogger(__name__)

NO_USER = ""
"""A user id that no key belongs to: the searches find nothing."""
TEXT = "warm-up query"
"""ASCII: the library that repairs other texts takes 8 MB, and is loaded with the first of them."""


async def run(services: Services, *, concurrent: int) -> None:
    """Run as many searches at once as the service admits, on every server that is read; a failure is only logged."""
    await _search(services, concurrent=concurrent)
    for route in await services.db.reads.others():
        await _search(services.for_request(route, only_reads=True), concurrent=concurrent)


async def _search(services: Services, *, concurrent: int) -> None:
    queries = [SearchRequest(query=f"{TEXT} {number}") for number in range(concurrent)]
    try:
        async with asyncio.TaskGroup() as group:
            for query in queries:
                group.create_task(search.run(query, NO_USER, services))
    except* errors.StepwellError as failed:
        log.warning("warm-up failed: %s", failed.exceptions[0], extra={"action": "warmup_failed"})
