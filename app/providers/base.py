"""What does the corridor know of an embedder?"""

from __future__ import annotations

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
