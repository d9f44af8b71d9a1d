"""How much is the embedding model asked to do right now?"""

from __future__ import annotations

from collections.abc import Sequence

from app.providers import base
from app.shapes import Vector


class CountingEmbedder:
    """Wraps any Embedder and knows how many queries and passages wait for their vectors."""

    def __init__(self, embedder: base.Embedder) -> None:
        self._embedder = embedder
        self.queries_in_flight = 0
        self.passages_in_flight = 0

    @property
    def model(self) -> base.EmbeddingModel:
        """The wrapped embedder's model."""
        return self._embedder.model

    async def embed_query(self, text: str) -> Vector:
        """The query's vector. Raises what the wrapped embedder raises."""
        self.queries_in_flight += 1
        try:
            return await self._embedder.embed_query(text)
        finally:
            self.queries_in_flight -= 1

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """The passages' vectors. Raises what the wrapped embedder raises."""
        self.passages_in_flight += len(texts)
        try:
            return await self._embedder.embed_documents(texts)
        finally:
            self.passages_in_flight -= len(texts)
