"""Runs the jobs of all kinds, a loop for each queue, watches sources, and deletes feedback that is too old."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from app.feedback import feedback
from app.jobs import kinds, workers
from app.jobs.workers import JobKind
from app.services import Services
from app.sources import source_watch


async def run_forever(services: Services, *, done: Callable[[str, int], None]) -> None:
    """Run the jobs of all users, watch their sources and delete their old feedback, until cancelled.

    They begin when the database accepts writes. `done` is called after each job with its kind and the work done.
    """
    await workers.until_writable(services.db)
    queues = defaultdict[str, list[JobKind]](list)
    for kind in kinds.ALL:
        queues[kind.queue].append(kind)
    loops = (workers.run_forever(services, queue, done=done) for queue in queues.values())
    await asyncio.gather(source_watch.run_forever(services), feedback.expire_forever(services), *loops)
