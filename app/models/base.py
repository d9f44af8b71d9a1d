"""Defines the protocols of embedders, language models and re-rankers, and caches the vectors of queries."""

from __future__ import annotations

import copy
import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from app import errors
from app.concurrency.single_flight import SingleFlight
from app.kinds import Vector
from app.models.calls import RemoteCalls

_Key = tuple[str, str]
CACHED = 2_000
"""Query vectors that are kept."""
ROUNDING = 1e-12
"""By how much the length of a unit vector in double precision may differ from 1."""


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedding model; vectors of two models cannot be compared.

    `token_starts` returns the offset of each of its tokens in a text, ascending; None if the model's tokenizer is not
    in this process. It may be called from any thread.
    `languages` are the ISO 639-1 codes of those that the model was trained to read; empty if they are not known.
    `unrelated` is the mean cosine of unrelated texts; None if it was not measured.
    """

    name: str
    dimension: int
    max_tokens: int
    keyed_by: str = ""
    languages: frozenset[str] = field(default=frozenset(), compare=False)
    unrelated: float | None = field(default=None, compare=False)
    token_starts: Callable[[str], Sequence[int]] | None = field(default=None, compare=False, repr=False)

    @property
    def key_name(self) -> str:
        """The name that is part of the keys of chunks' vectors; another one after the model was replaced."""
        return self.keyed_by or self.name


def unit_vector(vector: Vector, dimension: int | None = None) -> Vector:
    """The vector scaled to length 1, in double precision; one that has this length already is returned as it is.

    Postgres computes cosines in single precision, in which squares of very small or large components are 0 or infinite.
    Raises BadEmbedding if it has another dimension than the given one, is not finite or all zeros.
    """
    dimension = len(vector) if dimension is None else dimension
    if len(vector) == dimension and abs(math.hypot(*vector) - 1.0) < ROUNDING:
        return vector
    return unit_vectors([vector], count=1, dimension=dimension)[0]


def unit_vectors(computed: Sequence[Sequence[float]], *, count: int, dimension: int) -> list[Vector]:
    """The vectors that a model returned for `count` texts, scaled to length 1. Raises BadEmbedding."""
    vectors: list[Vector] = _units(computed, count, dimension).tolist()
    return vectors


def unit_arrays(computed: Sequence[Sequence[float]], *, count: int, dimension: int) -> list[array[float]]:
    """The same as 32-bit floats, which take an eighth of the memory. Raises BadEmbedding."""
    return [array("f", row.tobytes()) for row in _units(computed, count, dimension).astype(np.float32)]


def _units(computed: Sequence[Sequence[float]], count: int, dimension: int) -> npt.NDArray[np.float64]:
    others = {len(vector) for vector in computed} - {dimension}
    problem = f"vectors of {min(others)} dimensions instead of {dimension}" if others else ""
    if len(computed) != count:
        problem = f"{len(computed)} vectors for {count} texts"
    if problem:
        raise errors.BadEmbedding(f"The embedding model returned {problem}.", fault="vectors")
    vectors = np.array(computed, np.float64).reshape(count, dimension)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    if not np.all((largest > 0) & np.isfinite(largest)):
        raise errors.BadEmbedding(
            "The embedding model returned a vector that is not finite or all zeros.", fault="vectors"
        )
    vectors /= largest
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float64)


def read_vectors(found: Sequence[Any], *, count: int, dimension: int) -> list[Vector]:
    """The vectors in a provider's answer, scaled to length 1. Raises BadEmbedding."""
    try:
        if not all(type(number) in (int, float) for vector in found for number in vector):
            raise TypeError("not a number")
        vectors = [[float(number) for number in vector] for vector in found]
    except (TypeError, OverflowError) as error:
        message = "The embedding model returned something else than vectors."
        raise errors.BadEmbedding(message, fault="answer") from error
    return unit_vectors(vectors, count=count, dimension=dimension)


class Embedder(Protocol):
    """Turns text into unit vectors of `model.dimension` floats.

    Queries and documents have two methods because many models embed them differently.
    Raises ProviderError when the model fails, BadEmbedding when its answer is unusable.
    """

    @property
    def model(self) -> EmbeddingModel:
        """The model that computes the vectors."""

    async def embed_query(self, text: str) -> Vector:
        """Embed one query."""

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages; returns one vector for each text, in the same order."""


def for_user(embedder: Embedder, user_id: str) -> Embedder:
    """The embedder to use for this user's queries, if it keeps something for each user, such as a cache."""
    of_user: Callable[[str], Embedder] | None = getattr(embedder, "for_user", None)
    return embedder if of_user is None else of_user(user_id)


def calls_of(model: object) -> RemoteCalls | None:
    """The calls of an embedder, language model or re-ranker; None for a model in this process."""
    calls = getattr(model, "calls", None)
    return calls if isinstance(calls, RemoteCalls) else None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a language model proposes for a further search: terms from the passages, and questions. Both unchecked."""

    terms: Sequence[object]
    questions: Sequence[object] = ()


class Llm(Protocol):
    """A language model that reads passages, and proposes what to search for next or names the entities in them.

    Passages are passed as data, not as instructions. The caller must check the proposal: a passage may have influenced
    it. Raises ProviderError when the model fails or its answer is unusable.
    """

    name: str
    """The model's name."""

    async def propose(self, query: str, passages: Sequence[str]) -> Proposal:
        """Propose up to 5 terms from the passages, and up to 2 questions that are still open, for a further search."""

    async def entities(self, text: str) -> Sequence[object]:
        """Name the entities in a text, as objects with `type`, `name`, `aliases` and `role`; unchecked.

        A call in bulk, which may take longer than one for a query.
        """


class Reranker(Protocol):
    """A cross-encoder that scores passages against a query.

    Raises ProviderError when the model fails or its answer is unusable.
    """

    name: str
    """The model's name."""

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """The relevance of each passage, 0 to 1, in the same order. Scores of two calls cannot be compared."""


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
        return calls_of(self._embedder)

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
        return unit_vector(await self._embedder.embed_query(text), self.model.dimension)
