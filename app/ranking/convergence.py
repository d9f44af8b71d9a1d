"""Decides when further batches of documents no longer change the best hits.

Documents are scored in batches, so scores must not depend on the batch: the cosine, and BM25 over the most that any
passage could score for the query. Ranks and scaled scores of a batch mean nothing outside it.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from app.shapes import Weights

STABLE_ROUNDS = 3
"""Batches in a row that must leave the best unchanged."""


@dataclass(slots=True)
class StableTopK:
    """The best `limit` of all batches so far, best first, and for how many batches they have been the same."""

    limit: int
    unchanged: int = 0
    _best: dict[UUID, float] = field(default_factory=dict)

    @property
    def top(self) -> list[UUID]:
        """The best."""
        return list(self._best)

    def add_batch(self, scores: Mapping[UUID, float]) -> None:
        """Take in the scores of one more batch: what was not among the best before cannot be now."""
        rivals = {**self._best, **scores}
        best = heapq.nsmallest(self.limit, rivals, key=lambda chunk: (-round(rivals[chunk], 12), chunk.int))
        self.unchanged = self.unchanged + 1 if best == self.top and best else 0
        self._best = {chunk: rivals[chunk] for chunk in best}

    def is_stable(self) -> bool:
        """Whether the best were the same for three rounds."""
        return self.unchanged >= STABLE_ROUNDS


def score(cosine: float | None, bm25: float | None, *, bound: float, weights: Weights) -> float:
    """The weighted mean of both legs' scores, 0 to 1; an absent leg counts 0."""
    by_words = min(1.0, (bm25 or 0.0) / bound) if bound > 0 else 0.0
    whole = weights.vector + weights.text
    return (weights.vector * max(0.0, cosine or 0.0) + weights.text * by_words) / whole if whole else 0.0
