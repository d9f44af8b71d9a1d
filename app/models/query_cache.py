"""Caches the vectors of queries, for each user alone."""

from __future__ import annotations

import copy
from array import array
from collections.abc import Sequence

from cachetools import LRUCache

from app.concurrency.single_flight import SingleFlight
from app.enums import Vector
from app.models import protocols, unit_vectors
from app.models.calls import RemoteCalls
from app.models.protocols import Embedder, EmbeddingModel

_Key = tuple[str, str]
CACHED = 2_000
"""Query vectors that are kept."""


class CachingEmbedder:
    """Wraps an Embedder with a cache of the last `size` query vectors, of length 1 (at 384 dimensions about 3 KB each).

    Entries belong to one user: a hit on another user's entry would show, by its time, what that user asked. Use
    `for_user`; `embed_query` on the wrapper itself caches nothing. The bound is on all users' entries together.

    Concurrent calls of one user with the same text share one computation. A failure is not cached. Passages are not
    cached: an ingest seldom repeats one and would evict queries.
    """

    def __init__(self, embedder: Embedder, *, size: int = CACHED) -> None:
        self._embedder = embedder
        self._vectors: LRUCache[_Key, array[float]] = LRUCache(size)
        self._flights: SingleFlight[_Key, Vector] = SingleFlight()
        self._user_id: str | None = None

    @property
    def model(self) -> EmbeddingModel:
        """The wrapped embedder's model."""
        return self._embedder.model

    @property
    def calls(self) -> RemoteCalls | None:
        """The wrapped embedder's calls; None for a model in this process."""
        return protocols.calls_of(self._embedder)

    def for_user(self, user_id: str) -> Embedder:
        """A view that uses this user's entries of the cache."""
        view = copy.copy(self)
        view._user_id = user_id
        return view

    async def embed_query(self, text: str) -> Vector:
        """Embed one query. A view of a user takes it from the cache. Raises what the wrapped embedder raises.

        Each caller gets a vector of its own.
        """
        if self._user_id is None:
            return await self._compute(text)
        key = (self._user_id, text)
        if (kept := self._vectors.get(key)) is not None:
            return kept.tolist()

        async def fill() -> Vector:
            vector = await self._compute(text)
            self._vectors[key] = array("d", vector)
            return vector

        return list(await self._flights.join(key, fill))

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, uncached. Raises what the wrapped embedder raises."""
        return await self._embedder.embed_documents(texts)

    async def _compute(self, text: str) -> Vector:
        return unit_vectors.unit_vector(await self._embedder.embed_query(text), self.model.dimension)
