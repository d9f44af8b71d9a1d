"""Defines the protocols of embedders, language models and re-rankers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from app.shapes import Vector


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedding model; vectors of two models cannot be compared."""

    name: str
    dimension: int
    max_tokens: int


def is_usable(vector: Sequence[float], dimension: int) -> bool:
    """Whether a vector has the dimension, finite components and a direction (a zero vector is never found)."""
    return len(vector) == dimension and 1e-30 < math.hypot(*vector) < 1e30


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


@runtime_checkable
class MultiUserEmbedder(Protocol):
    """An embedder that keeps something for each user, such as a cache."""

    def for_user(self, user_id: str) -> Embedder:
        """The embedder for one user's queries."""
        ...


def for_user(embedder: Embedder, user_id: str) -> Embedder:
    """The embedder to use for this user's queries."""
    return embedder.for_user(user_id) if isinstance(embedder, MultiUserEmbedder) else embedder


class Llm(Protocol):
    """A language model that proposes search terms from passages.

    Passages are passed as data, not as instructions. The caller must check the terms: a passage may have influenced
    them. Raises ProviderError when the model fails or its answer is unusable.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def terms(self, query: str, passages: Sequence[str]) -> list[object]:
        """Propose 3 to 5 terms from the passages for a further search."""
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
