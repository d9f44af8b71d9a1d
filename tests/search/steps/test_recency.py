"""The age of a document changes a score by the documented formula."""

from __future__ import annotations

import pytest

from app.search.steps import recency


@pytest.mark.parametrize(("age_days", "decay", "factor"), [(0, 1.0, 1.2), (30, 0.5, 1.0), (60, 0.25, 0.9)])
def test_a_score_gains_and_loses_up_to_the_weight_by_half_lives(age_days: int, decay: float, factor: float) -> None:
    assert recency.decay(age_days, half_life_days=30) == decay
    assert recency.factor(decay, weight=0.2, fusion="convex") == pytest.approx(factor)
    assert recency.factor(decay, weight=0.2, fusion="rrf") ** 5 == pytest.approx(factor)


def test_the_future_is_the_present_and_no_age_is_too_large() -> None:
    assert recency.decay(-400, half_life_days=30) == 1.0
    assert recency.decay(4e6, half_life_days=0.01) == 0.0
    assert recency.factor(0.0, weight=1.0, fusion="rrf") == 0.0


def test_a_negative_score_falls_with_age_too() -> None:
    assert recency.rescore(-2.0, 1.25) == -1.6
    assert recency.rescore(-2.0, 0.8) == -2.5
