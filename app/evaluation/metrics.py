"""Computes ranking metrics over graded relevance, and how well predicted probabilities agree with outcomes.

Unjudged documents have grade 0; ranks start at 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

BINS = 10
"""Bins of equal width over 0 to 1."""

Prediction = tuple[float, bool]
"""A probability, 0 to 1, and whether the event occurred."""


def ndcg(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Returns the normalised discounted cumulative gain at k, 0 to 1, with gain 2^rel − 1 and discount log2(rank + 1).

    Source: Burges et al. 2005. The ideal ranking consists of all judged documents. A negative grade counts as 0.
    """
    ideal = _dcg(sorted(relevant.values(), reverse=True)[:k])
    return _dcg([relevant.get(document, 0) for document in ranking[:k]]) / ideal if ideal else 0.0


def recall(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Returns the share of the relevant documents that are among the first k."""
    wanted = {document for document, grade in relevant.items() if grade > 0}
    return len(wanted & set(ranking[:k])) / len(wanted) if wanted else 0.0


def full_recall(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Returns 1 if all relevant documents are among the first k, else 0."""
    return float(recall(ranking, relevant, k) == 1.0)


def reciprocal_rank(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Returns 1 / rank of the first relevant document, or 0 if none is among the first k."""
    return next((1 / rank for rank, document in enumerate(ranking[:k], 1) if relevant.get(document, 0) > 0), 0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the nearest-rank percentile for a share from 0 to 1; 0 for no values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _dcg(grades: Sequence[float]) -> float:
    return sum((math.exp2(max(grade, 0)) - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


@dataclass(frozen=True, slots=True)
class Bin:
    """The predictions within one bin: their number, their mean, and the share of them that occurred."""

    count: int
    mean: float
    observed: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The agreement of predictions with outcomes; `auroc` is None if all outcomes are equal.

    `base_brier` is the Brier score of predicting the share of outcomes that occurred, `base_rate`, for all.
    """

    count: int
    base_rate: float
    ece: float
    brier: float
    base_brier: float
    auroc: float | None
    bins: tuple[Bin, ...]


def measure_calibration(predictions: Iterable[Prediction]) -> Calibration:
    """Returns how well predictions agree with the outcomes. At least one prediction is needed.

    Expected calibration error: Naeini et al., "Obtaining Well Calibrated Probabilities Using Bayesian Binning" (2015).
    Brier score: Brier (1950).
    """
    pairs = list(predictions)
    count = len(pairs)
    rate = sum(occurred for _, occurred in pairs) / count
    bins = []
    for index in range(BINS):
        inside = [pair for pair in pairs if min(BINS - 1, int(pair[0] * BINS)) == index]
        if inside:
            mean = sum(probability for probability, _ in inside) / len(inside)
            bins.append(Bin(len(inside), mean, sum(occurred for _, occurred in inside) / len(inside)))
    return Calibration(
        count=count,
        base_rate=rate,
        ece=sum(each.count * abs(each.mean - each.observed) for each in bins) / count,
        brier=sum((probability - occurred) ** 2 for probability, occurred in pairs) / count,
        base_brier=rate * (1 - rate),
        auroc=auroc(pairs),
        bins=tuple(bins),
    )


def auroc(pairs: Sequence[Prediction]) -> float | None:
    """Returns the area under the ROC curve; None if all outcomes are equal (Hanley and McNeil 1982).

    It is the probability that a positive outcome has the higher prediction, a tie counting one half.
    """
    positive = [predicted for predicted, occurred in pairs if occurred]
    negative = sorted(predicted for predicted, occurred in pairs if not occurred)
    if not positive or not negative:
        return None
    below = sum((bisect_left(negative, one) + bisect_right(negative, one)) / 2 for one in positive)
    return below / (len(positive) * len(negative))
