"""Measures how well predicted probabilities agree with outcomes: reliability table, ECE, Brier score and AUROC.

Expected calibration error: Naeini et al., "Obtaining Well Calibrated Probabilities Using Bayesian Binning" (2015).
Brier score: Brier (1950). AUROC is the probability that a positive outcome has the higher prediction, a tie counting
one half (Hanley and McNeil 1982).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BINS = 10
"""Bins of equal width over 0 to 1."""

Prediction = tuple[float, bool]
"""A probability, 0 to 1, and whether the event occurred."""


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


def of(predictions: Iterable[Prediction]) -> Calibration:
    """Returns the calibration of at least one prediction."""
    pairs = list(predictions)
    count = len(pairs)
    rate = sum(occurred for _, occurred in pairs) / count
    bins = _bins(pairs)
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
    """Returns the area under the ROC curve, from the sum of the ranks of the positive outcomes (Mann and Whitney)."""
    positive = sum(occurred for _, occurred in pairs)
    negative = len(pairs) - positive
    if not positive or not negative:
        return None
    total = sum(rank for rank, (_, occurred) in _ranked(pairs) if occurred)
    return (total - positive * (positive + 1) / 2) / (positive * negative)


def _ranked(pairs: Sequence[Prediction]) -> list[tuple[float, Prediction]]:
    """Returns the predictions with their ranks from 1, lowest first; equal ones have the mean of their ranks."""
    ordered = sorted(pairs, key=lambda pair: pair[0])
    ranked: list[tuple[float, Prediction]] = []
    start = 0
    while start < len(ordered):
        end = start
        while end < len(ordered) and ordered[end][0] == ordered[start][0]:
            end += 1
        ranked += [((start + 1 + end) / 2, pair) for pair in ordered[start:end]]
        start = end
    return ranked


def _bins(pairs: Sequence[Prediction]) -> list[Bin]:
    """Returns the bins that have predictions, lowest first."""
    found = []
    for index in range(BINS):
        inside = [pair for pair in pairs if min(BINS - 1, int(pair[0] * BINS)) == index]
        if inside:
            mean = sum(probability for probability, _ in inside) / len(inside)
            found.append(Bin(len(inside), mean, sum(occurred for _, occurred in inside) / len(inside)))
    return found
