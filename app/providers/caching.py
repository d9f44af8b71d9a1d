"""Caches query vectors per user, and embeds a query once for all callers that wait for it."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from app.providers import base
from app.shapes import Vector

_Key = tuple[str, str]


@dataclass(slots=True, eq=False)
class _Flight:
    """One running embedding and the number of callers that wait for it."""

    task: asyncio.Task[Vector]
    waiters: int = 0


class CachingEmbedder:
    """Wraps an Embedder with a cache of the last `size` query vectors (at 384 dimensions about 3 KB each).

    Entries belong to one user: a hit on another user's entry would show, by its time, what that user asked. Use
    `for_user`; `embed_query` on the wrapper itself caches nothing. The bound is on all users' entries together.

    Concurrent calls of one user with the same text share one computation. It survives the cancellation of a caller
    and is cancelled with the last one, so that a hanging provider does not block a later query. A failure is raised
    to every waiter and is not cached. Passages are not cached: an ingest seldom repeats one and would evict queries.
    """

    def __init__(self, embedder: base.Embedder, *, size: int = 2048) -> None:
        self._embedder = embedder
        self._vectors: LRUCache[_Key, array[float]] = LRUCache(size)
        self._flights: dict[_Key, _Flight] = {}
        self.queries_in_flight = 0
        self.passages_in_flight = 0

    @property
    def model(self) -> base.EmbeddingModel:
        """The wrapped embedder's model."""
        return self._embedder.model

    def for_user(self, user_id: str) -> base.Embedder:
        """An embedder that uses this user's entries of the cache."""
        return _UserEmbedder(self, user_id)

    async def embed_query(self, text: str) -> Vector:
        """Embed one query, uncached. Raises what the wrapped embedder raises."""
        self.queries_in_flight += 1
        try:
            return await self._embedder.embed_query(text)
        finally:
            self.queries_in_flight -= 1

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, uncached. Raises what the wrapped embedder raises."""
        self.passages_in_flight += len(texts)
        try:
            return await self._embedder.embed_documents(texts)
        finally:
            self.passages_in_flight -= len(texts)

    async def cached(self, user_id: str, text: str) -> Vector:
        """The vector of a user's query, as a copy of the caller's own. Raises what the wrapped embedder raises."""
        key = (user_id, text)
        vector = self._vectors.get(key)
        return vector.tolist() if vector is not None else list(await self._join(key))

    async def _join(self, key: _Key) -> Vector:
        flight = self._flights.get(key) or self._start(key)
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                self._remove(key, flight)
                flight.task.cancel()

    def _start(self, key: _Key) -> _Flight:
        flight = _Flight(asyncio.create_task(self.embed_query(key[1])))
        flight.task.add_done_callback(lambda _: self._finish(key, flight))
        self._flights[key] = flight
        return flight

    def _finish(self, key: _Key, flight: _Flight) -> None:
        self._remove(key, flight)
        # Reading the exception also marks it as retrieved when every waiter has left.
        if not flight.task.cancelled() and flight.task.exception() is None:
            self._vectors[key] = array("d", flight.task.result())

    def _remove(self, key: _Key, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


@dataclass(frozen=True, slots=True)
class _UserEmbedder:
    """One user's view of a CachingEmbedder."""

    shared: CachingEmbedder
    user_id: str

    @property
    def model(self) -> base.EmbeddingModel:
        """The wrapped embedder's model."""
        return self.shared.model

    async def embed_query(self, text: str) -> Vector:
        """The query's vector, from the user's cache if it is there. Raises what the wrapped embedder raises."""
        return await self.shared.cached(self.user_id, text)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, uncached. Raises what the wrapped embedder raises."""
        return await self.shared.embed_documents(texts)
