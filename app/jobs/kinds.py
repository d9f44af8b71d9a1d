"""Lists the kinds of background jobs that the capabilities declare, and runs them."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from app import capability
from app.jobs import workers
from app.jobs.workers import JobKind
from app.services import Services


def every() -> tuple[JobKind, ...]:
    """The kinds of all capabilities."""
    return capability.declared("jobs")


async def run_forever(services: Services) -> None:
    """Run the jobs of all users, a loop for each queue, and what capabilities declare as `background`, until cancelled.

    They begin when the database accepts writes.
    """
    await workers.until_writable(services.db)
    queues = defaultdict[str, list[JobKind]](list)
    for kind in every():
        queues[kind.queue].append(kind)
    loops = (workers.run_forever(services, queue) for queue in queues.values())
    await asyncio.gather(*(run(services) for run in capability.declared("background")), *loops)
