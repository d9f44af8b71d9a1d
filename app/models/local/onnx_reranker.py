"""Scores passages with a cross-encoder in ONNX format on the local CPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from app.errors import ProviderError
from app.models.local.onnx_model import OnnxModel, Tokens
from app.models.remote_calls import CallTimes, ProviderModel, RemoteCalls

MAX_CHARACTERS = 4_000
"""Most characters of a passage that are read. Most models truncate at 512 tokens."""
MAX_LOGIT = 500.0


class OnnxReranker:
    """A cross-encoder with one label (its logit) or two (irrelevant, relevant). `aclose()` ends its thread."""

    def __init__(self, graph: OnnxModel, name: str) -> None:
        self._graph = graph
        self.name = name

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """The relevance of each passage, 0 to 1, in the same order. A cancelled call stops after the current batch.

        Raises ProviderError.
        """
        encodings = await self._graph.run(partial(self._encode, query), passages)
        found: dict[int, float] = {}
        for rows in self._graph.batches(encodings):
            scores = await self._graph.run(self._scores, [encodings[row] for row in rows])
            found.update(zip(rows, scores, strict=True))
        return [found[row] for row in range(len(encodings))]

    async def aclose(self) -> None:
        """Finish queued work and end the thread; later calls raise ProviderError. May be called twice."""
        await self._graph.aclose()

    def check(self) -> None:
        """Score a word. Raises ProviderError where the model is no cross-encoder."""
        self._scores(self._encode("stepwell", ["stepwell"]))

    def _encode(self, query: str, passages: Sequence[str]) -> Sequence[Tokens]:
        return self._graph.encode([(query, passage[:MAX_CHARACTERS]) for passage in passages])

    def _scores(self, encodings: Sequence[Tokens]) -> list[float]:
        logits, _ = self._graph.infer(encodings, self._graph.outputs[0])
        logits = logits.reshape(len(encodings), -1)
        if logits.shape[1] not in (1, 2) or not np.isfinite(logits).all():
            raise ProviderError(f"{self._graph.name} returns no score for each passage.", fault="model")
        relevance = logits[:, -1] - (logits[:, 0] if logits.shape[1] == 2 else 0)
        scores: list[float] = (1 / (1 + np.exp(-relevance.astype(np.float64).clip(-MAX_LOGIT, MAX_LOGIT)))).tolist()
        return scores


class UnloadedReranker:
    """A cross-encoder that could not be loaded: every call fails, and its circuit breaker is open."""

    def __init__(self, name: str, reason: ProviderError) -> None:
        self.name = name
        self._reason = reason
        self.calls = RemoteCalls(ProviderModel("reranker", "onnx", name), CallTimes(0.0))
        self.calls.breaker.open(math.inf)

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Raises ProviderError with the reason."""
        raise ProviderError(self._reason.message, fault=self._reason.fault)

    async def aclose(self) -> None:
        """Nothing is open."""
