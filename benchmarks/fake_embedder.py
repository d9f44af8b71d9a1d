"""Embeds texts for tests and benchmarks without a model: a text always has the same vector."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.enums import Vector
from app.errors import ProviderError
from app.models import protocols

_WORD = re.compile(r"\w+")


class FakeEmbedder:
    """Maps a text to the same unit vector in every process; texts with common words have similar vectors.

    Set `failing` to make every call raise ProviderError. `unrelated` is the cosine of unrelated texts, None to have it
    measured. `queries` and `documents` list the texts that were embedded.
    """

    def __init__(
        self, *, dimension: int = 384, name: str = "fake", failing: bool = False, unrelated: float | None = 0.0
    ) -> None:
        self._model = protocols.EmbeddingModel(name=name, dimension=dimension, max_tokens=256, unrelated=unrelated)
        self.failing = failing
        self.queries: list[str] = []
        self.documents: list[str] = []

    @property
    def model(self) -> protocols.EmbeddingModel:
        """The model it claims to be."""
        return self._model

    async def embed_query(self, text: str) -> Vector:
        """Embed one query. Raises ProviderError while `failing` is set."""
        self._check()
        self.queries.append(text)
        return self._embed(text)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages like queries. Raises ProviderError while `failing` is set."""
        self._check()
        self.documents.extend(texts)
        return [self._embed(text) for text in texts]

    def _check(self) -> None:
        if self.failing:
            raise ProviderError("The fake embedder is set to fail.")

    def _embed(self, text: str) -> Vector:
        words = _WORD.findall(text.lower()) or [text]
        total = np.sum([self._direction(word) for word in words], axis=0)
        vector: Vector = (total / np.linalg.norm(total)).tolist()
        return vector

    def _direction(self, word: str) -> npt.NDArray[np.float64]:
        # Odd integers: no word's direction, and no sum of an odd number of them, can be zero.
        noise = hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(2 * self._model.dimension)
        return np.frombuffer(noise, dtype="<i2").astype(np.float64) * 2 + 1
