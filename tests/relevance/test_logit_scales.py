"""Scales of logits are fitted to judgements, less the fewer there are, and keep the order of probabilities."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.database.calibration_types import LogitScale
from app.relevance import logit_scales
from app.relevance.logit_scales import Judged, Prior

PRIOR = Prior(intercept=1.0, slope=0.5)


def drawn(scale: LogitScale, count: int, seed: int = 3) -> list[Judged]:
    """Predictions, and outcomes that occur with the probability that a scale makes of them."""
    dice = random.Random(seed)
    predictions = [dice.uniform(0.02, 0.9) for _ in range(count)]
    return [Judged(one, dice.random() < logit_scales.apply(scale, one)) for one in predictions]


@given(st.floats(-3, 3), st.floats(0.1, 3), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_a_scale_keeps_the_order_and_can_be_taken_back(intercept: float, slope: float, one: float, two: float) -> None:
    scale = LogitScale(intercept, slope)
    first, second = (logit_scales.apply(scale, value) for value in (one, two))
    assert (first <= second) == (one <= two) or first == pytest.approx(second)
    assert logit_scales.remove(scale, first) == pytest.approx(one, rel=1e-3)


def test_many_judgements_decide_and_few_change_little() -> None:
    true = LogitScale(1.2, 0.6)
    many, few = (logit_scales.fit(drawn(true, count), PRIOR) for count in (8_000, 4))
    assert (many.intercept, many.slope) == (pytest.approx(1.2, abs=0.1), pytest.approx(0.6, abs=0.06))
    assert abs(few.intercept) < abs(many.intercept)
    assert logit_scales.fit([], PRIOR) == LogitScale()


def test_judgements_against_the_order_do_not_reverse_it() -> None:
    reversed_ = [Judged(0.9, occurred=False), Judged(0.1, occurred=True)] * 500
    assert logit_scales.fit(reversed_, PRIOR).slope == logit_scales.LEAST_SLOPE
