"""Scores passages with a cross-encoder over HTTP: Cohere, Jina, or text-embeddings-inference (TEI)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from app import errors
from app.models.remote import endpoint
from app.models.remote_calls import CallTimes, ProviderModel, RemoteCalls

Kind = Literal["cohere", "jina", "tei"]
ADDRESSES = {
    "cohere": ("https://api.cohere.com/v2", "rerank-v3.5"),
    "jina": ("https://api.jina.ai/v1", "jina-reranker-v2-base-multilingual"),
}
"""The default address and model of each provider."""
TEI_BATCH = 32
"""Passages that TEI accepts in one request by default."""
MAX_CHARACTERS = 4_000
"""Most characters of a passage that are sent."""
_MIN_LOGIT, _MAX_LOGIT = -500.0, 20.0
"""Logits above the largest one give probabilities that round to 1, so that passages would tie."""


class HttpReranker:
    """A cross-encoder behind one endpoint, whose API is chosen by `kind`."""

    def __init__(
        self,
        *,
        kind: Kind,
        url: str,
        model: str | None = None,
        api_key: str | None = None,
        times: CallTimes = CallTimes(2.0),
    ) -> None:
        self._kind = kind
        self._model = model
        self.name = model or kind  # the provider's where it serves a single model
        self._endpoint = endpoint.Endpoint("The re-ranker", url=url, api_key=api_key)
        self.calls = RemoteCalls(ProviderModel("reranker", kind, self.name), times)

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """The relevance of each passage, 0 to 1, in the same order. Raises ProviderError."""
        if not passages:
            return []
        size = TEI_BATCH if self._kind == "tei" else len(passages)
        texts = [passage[:MAX_CHARACTERS] for passage in passages]
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]

        async def request_all() -> list[Any]:
            return [await self._endpoint.post("rerank", self._request(query, batch)) for batch in batches]

        answers = zip(await self.calls.query(request_all), batches, strict=True)
        return probabilities([score for answer, batch in answers for score in self._read(answer, len(batch))])

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    def _request(self, query: str, passages: list[str]) -> dict[str, Any]:
        if self._kind == "tei":
            return {"query": query, "texts": passages, "truncate": True, "raw_scores": False}
        body = {"model": self._model, "query": query, "documents": passages, "top_n": len(passages)}
        return {**body, "return_documents": False} if self._kind == "jina" else body

    def _read(self, answer: Any, count: int) -> list[float]:
        try:
            rows = answer if self._kind == "tei" else answer["results"]
            field = "score" if self._kind == "tei" else "relevance_score"
            scores = {}
            for row in rows:
                index, score = row["index"], row[field]
                if type(index) is not int or type(score) not in (int, float) or not math.isfinite(score):
                    raise ValueError("no score of a passage")
                scores[index] = float(score)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise errors.ProviderError("The re-ranker's answer does not follow its API.", fault="answer") from error
        if len(rows) != count or scores.keys() != set(range(count)):
            raise errors.ProviderError("The re-ranker did not score each passage once.", fault="answer")
        return [scores[index] for index in range(count)]


def probabilities(scores: Sequence[float]) -> list[float]:
    """The scores unchanged if all lie in 0 to 1; otherwise they are logits, and their sigmoids are returned.

    Scores on a larger scale, such as 0 to 100, are divided so that they keep their order.
    """
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    divisor = max(1.0, max(scores) / _MAX_LOGIT)
    return [1 / (1 + math.exp(-max(_MIN_LOGIT, score / divisor))) for score in scores]
