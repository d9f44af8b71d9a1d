"""Calibration figures follow their definitions."""

from __future__ import annotations

import random

import pytest

from app.evaluation import metrics


def test_the_figures_of_four_predictions() -> None:
    found = metrics.measure_calibration([(0.1, False), (0.2, True), (0.25, False), (0.9, True)])
    assert (found.count, found.base_rate, found.base_brier) == (4, 0.5, 0.25)
    assert found.brier == pytest.approx((0.1**2 + 0.8**2 + 0.25**2 + 0.1**2) / 4)
    assert found.ece == pytest.approx((1 * 0.1 + 2 * abs(0.225 - 0.5) + 1 * 0.1) / 4)
    assert found.auroc == pytest.approx(3 / 4)
    assert [(each.count, each.observed) for each in found.bins] == [(1, 0.0), (2, 0.5), (1, 1.0)]


@pytest.mark.parametrize(
    ("predictions", "auroc"),
    [
        ([(0.2, False), (0.8, True)], 1.0),
        ([(0.8, False), (0.2, True)], 0.0),
        ([(0.5, False), (0.5, True), (0.5, True)], 0.5),
        ([(0.5, True)], None),
    ],
)
def test_auroc_counts_a_tie_as_one_half_and_needs_both_outcomes(
    predictions: list[tuple[float, bool]], auroc: float | None
) -> None:
    assert metrics.measure_calibration(predictions).auroc == auroc


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    dice = random.Random(4)
    pairs = [(round(dice.random(), 1), dice.random() < 0.4) for _ in range(60)]
    positive = [p for p, occurred in pairs if occurred]
    negative = [p for p, occurred in pairs if not occurred]
    wins = sum((p > n) + (p == n) / 2 for p in positive for n in negative)
    assert metrics.auroc(pairs) == pytest.approx(wins / (len(positive) * len(negative)))


def test_predictions_of_0_and_1_are_in_the_outer_bins() -> None:
    assert [each.mean for each in metrics.measure_calibration([(0.0, False), (1.0, True)]).bins] == [0.0, 1.0]
