"""Computes ranking metrics over graded relevance. Unjudged documents have grade 0; ranks start at 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def ndcg(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Returns the normalised discounted cumulative gain at k, 0 to 1, with gain 2^rel − 1 and discount log2(rank + 1).

    Source: Burges et al. 2005. The ideal ranking consists of all judged documents.
    """
    ideal = _dcg(sorted(relevant.values(), reverse=True)[:k])
    return _dcg([relevant.get(document, 0) for document in ranking[:k]]) / ideal if ideal else 0.0


def recall(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Returns the share of the relevant documents that are among the first k."""
    wanted = {document for document, grade in relevant.items() if grade > 0}
    return len(wanted & set(ranking[:k])) / len(wanted) if wanted else 0.0


def full_recall(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Returns 1 if all relevant documents are among the first k, else 0."""
    return float(recall(ranking, relevant, k) == 1.0)


def reciprocal_rank(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Returns 1 / rank of the first relevant document, or 0 if none is among the first k."""
    return next((1 / rank for rank, document in enumerate(ranking[:k], 1) if relevant.get(document, 0) > 0), 0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the nearest-rank percentile for a share from 0 to 1; 0 for no values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _dcg(grades: Sequence[int]) -> float:
    return sum((2.0**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))
