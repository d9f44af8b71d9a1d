"""Embeds text with a sentence-embedding model in ONNX format on the local CPU."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from app.enums import Vector
from app.errors import BadEmbedding, ProviderError
from app.models import protocols
from app.models.known_models import Pooling
from app.models.local.onnx_model import TOKENIZER_BATCH, Ids, OnnxModel, Tokens

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddingSteps:
    """What happens before and after the graph: prefixes of queries and documents, and the pooling of token vectors.

    `output` is the graph's output to use; one vector per text is taken as it is, one per token is pooled.
    """

    output: str
    pooling: Pooling = "mean"
    query_prefix: str = ""
    document_prefix: str = ""
    lower_case: bool = False


class OnnxEmbedder:
    """An Embedder on the local CPU. `aclose()` ends its threads.

    Queries and documents have threads of their own, so a query shares the cores with documents instead of waiting for
    them. Texts are truncated to the model's `max_tokens`, vectors to its dimension. Vectors have length one.
    """

    def __init__(self, graph: OnnxModel, model: protocols.EmbeddingModel, steps: EmbeddingSteps) -> None:
        self._queries = graph
        # The other threads of an inference would wait for one that yields.
        self._documents = graph.beside(yields=graph.threads_of_inference == 1)
        self.model = replace(model, token_starts=self._token_starts)
        self._steps = steps

    async def embed_query(self, text: str) -> Vector:
        """Embed one query. Raises ProviderError when inference fails or the embedder is closed."""
        return (await self._queries.run(self._embed_queries, [text]))[0]

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, in the order of `texts`. A cancelled call stops after the current batches.

        Raises ProviderError when inference fails or the embedder is closed.
        """
        encode = partial(self._encode, self._steps.document_prefix)
        encodings: list[Tokens] = []
        for start in range(0, len(texts), TOKENIZER_BATCH):
            encodings += await self._documents.run(encode, texts[start : start + TOKENIZER_BATCH])
        vectors: dict[int, Vector] = {}
        # One batch waits while the threads compute others.
        places = asyncio.Semaphore(self._documents.concurrency + 1)

        async def compute(rows: Sequence[int]) -> None:
            async with places:
                found = await self._documents.run(self._vectors, [encodings[row] for row in rows])
            vectors.update(zip(rows, found, strict=True))

        tasks = [asyncio.create_task(compute(rows)) for rows in self._documents.batches(encodings)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [vectors[row] for row in range(len(encodings))]

    async def aclose(self) -> None:
        """Finish queued work and end the threads; later calls raise ProviderError. May be called twice."""
        for graph in (self._queries, self._documents):
            await graph.aclose()

    def check(self) -> None:
        """Embed a word. Raises ProviderError where the model returns no vector of its dimension."""
        found = len(self._embed_queries(["stepwell"])[0])
        if found < self.model.dimension:
            message = f"{self._queries.name} returns {found} dimensions, not {self.model.dimension}."
            raise BadEmbedding(message, fault="vectors")

    def _token_starts(self, text: str) -> array[int]:
        if self._steps.lower_case:  # except for characters whose lower case is longer, so that offsets stay
            lowered = text.lower()
            text = (
                lowered if len(lowered) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
            )
        return self._documents.tokenizer.starts(text)

    def _embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        return self._vectors(self._encode(self._steps.query_prefix, texts))

    def _encode(self, prefix: str, texts: Sequence[str]) -> Sequence[Tokens]:
        prefixed = [prefix + text for text in texts]
        return self._documents.encode([text.lower() for text in prefixed] if self._steps.lower_case else prefixed)

    def _vectors(self, encodings: Sequence[Tokens]) -> list[Vector]:
        groups = [[encoding] for encoding in encodings] if self._queries.one_by_one else [encodings]
        found = []
        for group in groups:
            values, mask = self._queries.infer(group, self._steps.output)
            if values.ndim not in (2, 3):
                raise ProviderError(f"{self._queries.name} returns no vectors.", fault="model")
            found.append(pool(self._steps.pooling, values, mask) if values.ndim == 3 else values)
        pooled = np.concatenate(found)[:, : self.model.dimension]
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        # A vector without a direction stays as it is.
        result: list[Vector] = np.asarray(pooled / np.where(norms > 0, norms, 1), np.float32).tolist()
        return result


def pool(pooling: Pooling, values: Floats, mask: Ids) -> Floats:
    """One vector per text from one per token: of the first token, of the last, or the mean of all but the padding."""
    if pooling == "mean":
        kept = mask[:, :, None].astype(np.float32)
        return np.asarray((values * kept).sum(axis=1) / np.maximum(kept.sum(axis=1), 1), np.float32)
    positions = mask.sum(axis=1) - 1 if pooling == "last" else np.zeros(len(values), np.int64)
    return np.asarray(values[np.arange(len(values)), positions])
