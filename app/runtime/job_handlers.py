"""Runs the background jobs of all kinds, a loop for each group of kinds, and watches sources."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.pipelines.documents import large_documents
from app.pipelines.jobs import workers
from app.pipelines.jobs.workers import Handler
from app.pipelines.linking import llm_entities, mention_refresh
from app.pipelines.maintenance import reembed, reindex
from app.pipelines.running.services import Services
from app.pipelines.sources import source_sync, source_watch


def groups(services: Services) -> list[dict[str, Handler]]:
    """The handlers of all kinds of jobs; the jobs of a group run one after the other."""
    return [
        mention_refresh.handlers(services.chunking_options.entity_keys),
        large_documents.handlers(services),
        reindex.handlers(services),
        source_sync.handlers(services),
        reembed.handlers(services),
        llm_entities.handlers(services),
    ]


def all_handlers(services: Services) -> dict[str, Handler]:
    """The handlers of all kinds of jobs."""
    return {kind: handler for group in groups(services) for kind, handler in group.items()}


async def run_forever(services: Services, *, done: Callable[[str, int], None]) -> None:
    """Run the jobs of all users and watch their sources until cancelled.

    They begin when the database accepts writes. `done` is called after each job with its kind and the work done.
    """
    await workers.until_writable(services.db)
    loops = (workers.run_forever(services.db, group, done=done) for group in groups(services) if group)
    await asyncio.gather(source_watch.run_forever(services), *loops)
