"""How is a cross-encoder behind HTTP asked: as Cohere and Jina are, or as text-embeddings-inference is?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from app import errors
from app.providers.endpoint import Endpoint

Kind = Literal["cohere", "jina", "tei"]
ADDRESSES = {
    "cohere": ("https://api.cohere.com/v2", "rerank-v3.5"),
    "jina": ("https://api.jina.ai/v1", "jina-reranker-v2-base-multilingual"),
}
"""Where each answers, and its model, unless told otherwise."""
TEI_AT_ONCE = 32
"""Passages that text-embeddings-inference takes in one request unless it was started otherwise."""
LONGEST_PASSAGE = 4_000
"""Characters of a passage that are sent; models read no more."""
_STEEPEST = 500.0


class HttpReranker:
    """Asks one endpoint, in the shape of its `kind`."""

    def __init__(
        self,
        *,
        kind: Kind,
        url: str,
        model: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 2.0,
    ) -> None:
        self._kind = kind
        self._model = model
        self._endpoint = Endpoint("The re-ranker", url=url, api_key=api_key, timeout_s=timeout_s)

    @property
    def name(self) -> str:
        """The model's name; the provider's kind where it has only one."""
        return self._model or self._kind

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """How relevant each passage is, 0 to 1, in the order given. Raises ProviderError."""
        at_once = TEI_AT_ONCE if self._kind == "tei" else max(1, len(passages))
        found: list[float] = []
        for start in range(0, len(passages), at_once):
            batch = [passage[:LONGEST_PASSAGE] for passage in passages[start : start + at_once]]
            told = await self._endpoint.ask("rerank", self._request(query, batch))
            found += self._read(told, len(batch))
        return squashed(found)

    async def aclose(self) -> None:
        """Give the connections back."""
        await self._endpoint.aclose()

    def _request(self, query: str, passages: list[str]) -> dict[str, Any]:
        if self._kind == "tei":
            return {"query": query, "texts": passages, "truncate": True, "raw_scores": False}
        body = {"model": self._model, "query": query, "documents": passages, "top_n": len(passages)}
        return {**body, "return_documents": False} if self._kind == "jina" else body

    def _read(self, told: Any, count: int) -> list[float]:
        try:
            rows = told if self._kind == "tei" else told["results"]
            name = "score" if self._kind == "tei" else "relevance_score"
            found = {_whole(row["index"]): _finite(row[name]) for row in rows}
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise errors.ProviderError("The re-ranker answered in another shape than its interface has.") from error
        if len(rows) != count or found.keys() != set(range(count)):
            raise errors.ProviderError("The re-ranker did not score each passage once.")
        return [found[place] for place in range(count)]


def squashed(scores: Sequence[float]) -> list[float]:
    """The scores as they are where all lie in 0 to 1; else they are logits, and their sigmoids."""
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [1 / (1 + math.exp(-max(-_STEEPEST, min(_STEEPEST, score)))) for score in scores]


def _whole(index: object) -> int:
    if type(index) is not int:
        raise TypeError("not an index")
    return index


def _finite(score: object) -> float:
    if type(score) not in (int, float) or not math.isfinite(float(score)):  # type: ignore[arg-type]
        raise ValueError("not a score")
    return float(score)  # type: ignore[arg-type]
