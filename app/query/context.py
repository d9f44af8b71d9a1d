"""Holds the state that the steps of one search share: the opened services, timings, and degraded parts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from uuid import UUID

from app import errors
from app.concurrency.limiter import UNLIMITED, Released
from app.database.calibrations import RelevanceCalibration
from app.database.pools import Version
from app.kinds import Degraded, Vector
from app.models import base
from app.services import Services

log = logging.getLogger(__name__)


@dataclass(slots=True)
class SearchContext:
    """One search in progress.

    `version` is the user's version in the snapshot that the chunks of the search are from, `calibration` that of the
    user's relevance there, `source_names` are those of the sources of what was read so far by id. `timings` has the
    duration of each stage in milliseconds, `degraded` the inputs that could not be used, `relaxed` the relaxations that
    were applied. `turn` is given back while the search waits for a remote provider. `moment` is the time that counts as
    the present, in microseconds since 1970: of all pages that of the first.
    """

    services: Services
    user_id: str
    turn: Released = UNLIMITED
    version: Version | None = None
    calibration: RelevanceCalibration | None = None
    source_names: dict[UUID, str] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[Degraded] = field(default_factory=list)
    relaxed: list[str] = field(default_factory=list)
    moment: int = field(default_factory=lambda: time.time_ns() // 1_000)

    def waiting_for(self, model: object) -> AbstractAsyncContextManager[None]:
        """Give the turn back while a remote model works; a local one uses the cores that the turns share."""
        return self.turn.released() if base.calls_of(model) else nullcontext()

    async def embed(self, text: str) -> Vector | None:
        """The vector of a query, or None with the reason in `degraded`: a failure does not end the search."""
        embedder = base.for_user(self.services.embedder, self.user_id)
        try:
            with self.timed("embed"):
                async with self.waiting_for(embedder), asyncio.timeout(self.services.budget.embed_s):
                    vector = await embedder.embed_query(text)
            return base.unit_vectors([vector], count=1, dimension=embedder.model.dimension)[0]
        except (errors.ProviderError, TimeoutError) as error:
            log.warning("query embedding failed: %s", type(error).__name__, extra={"action": "embedding_failed"})
            self.degraded += ["embedding_failed", "no_query_vector"]
            return None

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the block's duration to the stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] = round(self.timings.get(stage, 0.0) + (time.perf_counter() - start) * 1000, 3)
