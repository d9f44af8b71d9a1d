"""Runs the jobs of all kinds, a loop for each queue, and what capabilities run beside them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from app import capability
from app.jobs import kinds, workers
from app.jobs.workers import JobKind
from app.services import Services


async def run_forever(services: Services, *, done: Callable[[str, int], None]) -> None:
    """Run the jobs of all users, and what capabilities declare as `background`, until cancelled.

    They begin when the database accepts writes. `done` is called after each job with its kind and the work done.
    """
    await workers.until_writable(services.db)
    queues = defaultdict[str, list[JobKind]](list)
    for kind in kinds.every():
        queues[kind.queue].append(kind)
    loops = (workers.run_forever(services, queue, done=done) for queue in queues.values())
    await asyncio.gather(*(run(services) for run in capability.declared("background")), *loops)
