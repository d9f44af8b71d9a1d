"""Runs the background jobs of all kinds, a loop for each group of kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.pipelines import large_documents, mention_refresh, reindex, workers
from app.pipelines.services import Services


async def run_forever(services: Services, *, done: Callable[[str, int], None]) -> None:
    """Run the jobs of all users until cancelled; `done` is called after each with its kind and the work done."""
    groups = [
        mention_refresh.handlers(services.chunking_options.entity_keys),
        large_documents.handlers(services),
        reindex.handlers(services),
    ]
    await asyncio.gather(*(workers.run_forever(services.db, handlers, done=done) for handlers in groups))
