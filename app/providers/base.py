"""What does the corridor know of an embedder?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.shapes import Vector


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedding model as data: vectors of two models are never compared."""

    name: str
    dimension: int
    max_tokens: int


def is_usable(vector: Sequence[float], dimension: int) -> bool:
    """Whether a vector has the dimension, only finite numbers, and a direction (all zeros are never found again)."""
    return len(vector) == dimension and 1e-30 < math.hypot(*vector) < 1e30


class Embedder(Protocol):
    """Turns text into unit vectors of `model.dimension` floats.

    Queries and documents are two methods because many models embed them differently.
    Raises ProviderError when the model cannot answer, BadEmbedding when its answer is unusable.
    """

    @property
    def model(self) -> EmbeddingModel:
        """The model whose vectors these are."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """Embed one query."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages: one vector a text, in the order given."""
        ...


class Llm(Protocol):
    """Names terms in passages that would lead to related ones.

    The passages are data to it, never instructions; what it proposes is not to be trusted and is checked by the caller.
    Raises ProviderError when it cannot answer or answers nonsense.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def terms(self, query: str, passages: Sequence[str]) -> list[object]:
        """Propose 3 to 5 terms from the passages that a further search should look for."""
        ...


class Reranker(Protocol):
    """Reads a query and each passage together and says how well the passage answers.

    Raises ProviderError when it cannot answer or answers nonsense.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """How relevant each passage is, 0 to 1, in the order given; comparable within this answer only."""
        ...
