"""Caches query vectors per user, and embeds a query once for all callers that wait for it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from app.concurrency.single_flight import SingleFlight
from app.kinds import Vector
from app.models import base
from app.models.calls import RemoteCalls

_Key = tuple[str, str]
SIZE = 2_000
"""Query vectors that are kept."""


class CachingEmbedder:
    """Wraps an Embedder with a cache of the last `size` query vectors (at 384 dimensions about 3 KB each).

    Entries belong to one user: a hit on another user's entry would show, by its time, what that user asked. Use
    `for_user`; `embed_query` on the wrapper itself caches nothing. The bound is on all users' entries together.

    Concurrent calls of one user with the same text share one computation. A failure is not cached. Passages are not
    cached: an ingest seldom repeats one and would evict queries.
    """

    def __init__(self, embedder: base.Embedder, *, size: int = SIZE) -> None:
        self._embedder = embedder
        self._vectors: LRUCache[_Key, array[float]] = LRUCache(size)
        self._flights: SingleFlight[_Key, Vector] = SingleFlight()
        self.queries_in_flight = 0
        self.passages_in_flight = 0

    @property
    def model(self) -> base.EmbeddingModel:
        """The wrapped embedder's model."""
        return self._embedder.model

    @property
    def calls(self) -> RemoteCalls | None:
        """The wrapped embedder's calls; None for a model in this process."""
        return base.calls_of(self._embedder)

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
        return vector.tolist() if vector is not None else list(await self._flights.join(key, lambda: self._embed(key)))

    async def _embed(self, key: _Key) -> Vector:
        vector = await self.embed_query(key[1])
        self._vectors[key] = array("d", vector)
        return vector


@dataclass(frozen=True, slots=True)
class _UserEmbedder:
    """One user's view of a CachingEmbedder."""

    shared: CachingEmbedder
    user_id: str

    @property
    def model(self) -> base.EmbeddingModel:
        """The wrapped embedder's model."""
        return self.shared.model

    @property
    def calls(self) -> RemoteCalls | None:
        """The wrapped embedder's calls; None for a model in this process."""
        return self.shared.calls

    async def embed_query(self, text: str) -> Vector:
        """The query's vector, from the user's cache if it is there. Raises what the wrapped embedder raises."""
        return await self.shared.cached(self.user_id, text)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, uncached. Raises what the wrapped embedder raises."""
        return await self.shared.embed_documents(texts)
