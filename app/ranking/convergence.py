"""Decides when further batches of documents no longer change the best hits.

Documents are scored in batches, so scores must not depend on the batch: the cosine, and BM25 divided by its upper bound
for the query. Ranks and scaled scores are not comparable between batches.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from app.shapes import Weights

STABLE_ROUNDS = 3
"""Consecutive batches that must leave the top hits unchanged."""


@dataclass(slots=True)
class StableTopK:
    """The best `limit` chunks of all batches so far, and the number of batches that left them unchanged."""

    limit: int
    unchanged: int = 0
    _best: dict[UUID, float] = field(default_factory=dict)

    @property
    def top(self) -> list[UUID]:
        """The ids of the best chunks, best first."""
        return list(self._best)

    def add_batch(self, scores: Mapping[UUID, float]) -> None:
        """Adds the scores of one more batch; chunks dropped from the top cannot return to it."""
        candidates = {**self._best, **scores}
        best = heapq.nsmallest(self.limit, candidates, key=lambda chunk: (-round(candidates[chunk], 12), chunk.int))
        self.unchanged = self.unchanged + 1 if best == self.top and best else 0
        self._best = {chunk: candidates[chunk] for chunk in best}

    def is_stable(self) -> bool:
        """Returns whether the best chunks were unchanged for STABLE_ROUNDS batches."""
        return self.unchanged >= STABLE_ROUNDS


def score(cosine: float | None, bm25: float | None, *, bound: float, weights: Weights) -> float:
    """Returns the weighted mean of the scores of both legs, 0 to 1; an absent leg counts 0."""
    text_score = min(1.0, (bm25 or 0.0) / bound) if bound > 0 else 0.0
    total = weights.vector + weights.text
    return (weights.vector * max(0.0, cosine or 0.0) + weights.text * text_score) / total if total else 0.0
