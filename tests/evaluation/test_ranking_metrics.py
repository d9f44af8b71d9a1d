"""Metrics and calibration figures follow their published formulas; expected values are written as arithmetic."""

import random
from math import log2

import pytest

from app.evaluation import metrics

GRADED = {"a": 3, "b": 2, "c": 1, "d": 0}


def test_ndcg_discounts_gains_by_rank_and_divides_by_the_ideal() -> None:
    found = (2**2 - 1) / log2(2) + 0 / log2(3) + (2**3 - 1) / log2(4)
    ideal = (2**3 - 1) / log2(2) + (2**2 - 1) / log2(3) + (2**1 - 1) / log2(4)
    assert metrics.ndcg(["b", "x", "a"], GRADED, 10) == pytest.approx(found / ideal)
    assert metrics.ndcg(["x", "a"], GRADED, 1) == 0.0
    assert metrics.ndcg(["b", "a"], GRADED, 1) == pytest.approx((2**2 - 1) / (2**3 - 1))
    assert metrics.ndcg(["a", "b", "c"], GRADED, 10) == pytest.approx(1.0)
    assert metrics.ndcg(["x"], {**GRADED, "x": -2}, 10) == 0.0, "a negative judgement is no gain"


def test_recall_is_the_share_of_the_relevant_among_the_first_k() -> None:
    assert metrics.recall(["a", "d", "x"], GRADED, 3) == pytest.approx(1 / 3)
    assert metrics.recall(["a", "b", "c"], GRADED, 2) == pytest.approx(2 / 3)
    assert metrics.full_recall(["a", "b", "c"], GRADED, 2) == 0.0
    assert metrics.full_recall(["a", "b", "c"], GRADED, 3) == 1.0


def test_the_reciprocal_rank_is_that_of_the_first_relevant_one() -> None:
    assert metrics.reciprocal_rank(["x", "d", "c", "a"], GRADED, 10) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank(["x", "d", "c"], GRADED, 2) == 0.0


@pytest.mark.parametrize("measure", [metrics.ndcg, metrics.recall, metrics.full_recall, metrics.reciprocal_rank])
def test_nothing_found_and_nothing_relevant_are_zero(measure) -> None:  # type: ignore[no-untyped-def]
    assert measure([], GRADED, 10) == 0.0
    assert measure(["a"], {}, 10) == 0.0
    assert measure(["d"], {"d": 0}, 10) == 0.0


def test_a_percentile_is_the_nearest_rank() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [metrics.percentile(values, share) for share in (0.0, 0.2, 0.5, 0.95, 1.0)] == [1.0, 1.0, 3.0, 5.0, 5.0]
    assert metrics.percentile([], 0.5) == 0.0
    assert metrics.percentile([float(n) for n in range(1, 101)], 0.95) == 95.0


def test_the_figures_of_four_predictions_are_those_computed_by_hand() -> None:
    found = metrics.measure_calibration([(0.1, False), (0.2, True), (0.25, False), (0.9, True)])
    assert (found.count, found.base_rate, found.base_brier) == (4, 0.5, 0.25)
    assert found.brier == pytest.approx((0.1**2 + 0.8**2 + 0.25**2 + 0.1**2) / 4)
    assert found.ece == pytest.approx((1 * 0.1 + 2 * abs(0.225 - 0.5) + 1 * 0.1) / 4)
    assert found.auroc == pytest.approx(3 / 4)
    assert [(each.count, each.observed) for each in found.bins] == [(1, 0.0), (2, 0.5), (1, 1.0)]


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    dice = random.Random(4)
    pairs = [(round(dice.random(), 1), dice.random() < 0.4) for _ in range(60)]
    positive = [p for p, occurred in pairs if occurred]
    negative = [p for p, occurred in pairs if not occurred]
    wins = sum((p > n) + (p == n) / 2 for p in positive for n in negative)
    assert metrics.auroc(pairs) == pytest.approx(wins / (len(positive) * len(negative))), "a tie counts one half"
    assert metrics.auroc([(0.5, True)]) is None


def test_predictions_of_0_and_1_are_in_the_outer_bins() -> None:
    assert [each.mean for each in metrics.measure_calibration([(0.0, False), (1.0, True)]).bins] == [0.0, 1.0]
