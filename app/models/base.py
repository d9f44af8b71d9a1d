"""Defines the protocols of embedders, language models, re-rankers and the fetcher of pages."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from app import errors
from app.kinds import Vector
from app.models.calls import RemoteCalls


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


_SHORTEST, _LONGEST = 1e-150, 1e150
"""Lengths between which a vector can be divided by its length without a loss of precision."""


def unit_vector(vector: Sequence[float]) -> Vector:
    """The vector scaled to length 1, in double precision. Raises BadEmbedding if it is not finite or all zeros.

    Postgres computes cosines in single precision, in which squares of very small or large components are 0 or infinite.
    """
    length = math.hypot(*vector)
    if not _SHORTEST < length < _LONGEST:
        largest = max(map(abs, vector), default=0.0)
        vector = [component / largest for component in vector] if 0 < largest < math.inf else []
        length = math.hypot(*vector)
    if not 0 < length < math.inf:
        raise _unusable()
    return [component / length for component in vector]


def unit_vectors(computed: Sequence[Sequence[float]], *, count: int, dimension: int) -> list[Vector]:
    """The vectors that a model returned for `count` texts, scaled to length 1. Raises BadEmbedding."""
    _check_shape(computed, count, dimension)
    return [unit_vector(vector) for vector in computed]


def unit_arrays(computed: Sequence[Sequence[float]], *, count: int, dimension: int) -> list[array[float]]:
    """The same as 32-bit floats, which take an eighth of the memory, in a seventh of the time. Raises BadEmbedding."""
    _check_shape(computed, count, dimension)
    vectors = np.array(computed, np.float64).reshape(count, dimension)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    if not np.all((largest > 0) & np.isfinite(largest)):
        raise _unusable()
    vectors /= largest
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [array("f", row.tobytes()) for row in vectors.astype(np.float32)]


def _check_shape(computed: Sequence[Sequence[float]], count: int, dimension: int) -> None:
    others = {len(vector) for vector in computed} - {dimension}
    problem = f"vectors of {min(others)} dimensions instead of {dimension}" if others else ""
    if len(computed) != count:
        problem = f"{len(computed)} vectors for {count} texts"
    if problem:
        raise errors.BadEmbedding(f"The embedding model returned {problem}.", fault="vectors")


def _unusable() -> errors.BadEmbedding:
    return errors.BadEmbedding(
        "The embedding model returned a vector that is not finite or all zeros.", fault="vectors"
    )


def read_vectors(found: Sequence[Any], *, count: int, dimension: int) -> list[Vector]:
    """The vectors in a provider's answer, scaled to length 1. Raises BadEmbedding."""
    try:
        numbers = all(type(number) in (int, float) for vector in found for number in vector)
        vectors = [[float(number) for number in vector] for vector in found] if numbers else None
    except (TypeError, OverflowError):
        vectors = None
    if vectors is None:
        raise errors.BadEmbedding("The embedding model returned something else than vectors.", fault="answer")
    return unit_vectors(vectors, count=count, dimension=dimension)


class Embedder(Protocol):
    """Turns text into unit vectors of `model.dimension` floats.

    Queries and documents have two methods because many models embed them differently.
    Raises ProviderError when the model fails, BadEmbedding when its answer is unusable.
    """

    @property
    def model(self) -> EmbeddingModel:
        """The model that computes the vectors."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """Embed one query."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages; returns one vector for each text, in the same order."""
        ...


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

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def propose(self, query: str, passages: Sequence[str]) -> Proposal:
        """Propose up to 5 terms from the passages, and up to 2 questions that are still open, for a further search."""
        ...

    async def entities(self, text: str) -> Sequence[object]:
        """Name the entities in a text, as objects with `type`, `name`, `aliases` and `role`; unchecked.

        A call in bulk, which may take longer than one for a query.
        """
        ...


class Reranker(Protocol):
    """A cross-encoder that scores passages against a query.

    Raises ProviderError when the model fails or its answer is unusable.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """The relevance of each passage, 0 to 1, in the same order. Scores of two calls cannot be compared."""
        ...
