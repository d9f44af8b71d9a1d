"""How is a query that was asked before, or is being asked right now, not embedded twice?"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from app.providers import base
from app.shapes import Vector


@dataclass(slots=True, eq=False)
class _Flight:
    """One running embedding and how many callers wait for it."""

    task: asyncio.Task[Vector]
    waiters: int = 0


class CachingEmbedder:
    """Wraps any Embedder: remembers the vectors of the last `size` queries (at 384 dimensions about 3 KB each).

    Callers with the same text share one computation. It outlives a caller that is cancelled, and is cancelled with the
    last one, so that a hung provider holds nobody's later query. Failures reach every waiter and are not remembered.
    Documents pass through: an ingest seldom repeats a passage and would push the queries out.
    """

    def __init__(self, embedder: base.Embedder, *, size: int = 2048) -> None:
        self._embedder = embedder
        self._vectors: LRUCache[str, array[float]] = LRUCache(size)
        self._flights: dict[str, _Flight] = {}

    @property
    def model(self) -> base.EmbeddingModel:
        """The wrapped embedder's model."""
        return self._embedder.model

    async def embed_query(self, text: str) -> Vector:
        """The query's vector, the caller's own copy. Raises what the wrapped embedder raises."""
        known = self._vectors.get(text)
        return known.tolist() if known is not None else list(await self._join(text))

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, uncached. Raises what the wrapped embedder raises."""
        return await self._embedder.embed_documents(texts)

    async def _join(self, text: str) -> Vector:
        flight = self._flights.get(text) or self._start(text)
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                self._land(text, flight)
                flight.task.cancel()

    def _start(self, text: str) -> _Flight:
        flight = _Flight(asyncio.create_task(self._embedder.embed_query(text)))
        flight.task.add_done_callback(lambda task: self._settle(text, flight))
        self._flights[text] = flight
        return flight

    def _settle(self, text: str, flight: _Flight) -> None:
        self._land(text, flight)
        # Asking for the exception also marks it as seen when every waiter has left.
        if not flight.task.cancelled() and flight.task.exception() is None:
            self._vectors[text] = array("d", flight.task.result())

    def _land(self, text: str, flight: _Flight) -> None:
        if self._flights.get(text) is flight:
            del self._flights[text]
