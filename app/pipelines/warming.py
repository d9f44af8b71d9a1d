"""How does the first caller wait no longer than the next?

By a search as nobody, who has no documents: it opens the connections, has the statements planned and runs the model.
"""

from __future__ import annotations

import asyncio
import logging

from app import errors
from app.pipelines import search
from app.pipelines.services import Services
from app.shapes import Query

log = logging.getLogger(__name__)

NOBODY = ""
"""The user that no key belongs to."""


async def warm(services: Services, *, at_once: int) -> None:
    """Search as often at once as searches will have turns; a failure is logged, for it is no caller's yet."""
    searches = [Query(NOBODY, f"the first of turn {turn}") for turn in range(at_once)]
    try:
        async with asyncio.TaskGroup() as group:
            for query in searches:
                group.create_task(search.run(query, db=services.db, embedder=services.embedder, budget=services.budget))
    except* errors.StepwellError as failed:
        log.warning("the first searches failed: %s", failed.exceptions[0], extra={"action": "warming_failed"})
