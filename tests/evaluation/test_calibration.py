"""A calibration is fitted to judged questions, and measured on questions that it was not fitted to."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from app import errors
from app.database.calibration_types import LogitScale
from app.evaluation import calibration
from app.evaluation.calibration import AskedQuestion


def questions(count: int, *, rate: float, answered: bool = True) -> list[AskedQuestion]:
    """Questions with ten hits that are relevant with a fixed probability, whatever was predicted."""
    dice = random.Random(5)
    return [
        AskedQuestion(
            [(dice.uniform(0.05, 0.5), dice.random() < rate) for _ in range(10)],
            [(dice.uniform(0.6, 0.9) if answered else dice.uniform(0.3, 0.7), answered)],
        )
        for _ in range(count)
    ]


def test_thirty_questions_correct_what_is_predicted_for_others() -> None:
    found = calibration.fit(questions(30, rate=0.75), [])
    assert found.helps
    assert found.relevance.before.brier > 0.3
    assert found.relevance.after.brier < 0.21
    assert found.relevance.after.ece < found.relevance.before.ece / 2
    assert (found.stored.questions, found.stored.hits) == (30, 300)


def test_hits_over_several_hops_are_fitted_alone() -> None:
    own = [replace(one, hops=[(value, True) for value, _ in one.relevance]) for one in questions(30, rate=0.3)]
    found = calibration.fit(own, [])
    alone = calibration.fit([replace(one, hops=()) for one in own], [])
    assert found.stored.calibration.relevance == alone.stored.calibration.relevance
    assert found.stored.calibration.hops.intercept > 1 + found.stored.calibration.relevance.intercept
    assert found.stored.hits == 2 * alone.stored.hits == found.relevance.after.count


def test_answerable_is_fitted_only_to_questions_with_and_without_an_answer() -> None:
    own = questions(20, rate=0.5)
    alone = calibration.fit(own, [])
    assert (alone.stored.calibration.answerable, alone.answerable) == (LogitScale(), None)
    both = calibration.fit(own, questions(20, rate=0, answered=False))
    assert both.stored.hits == alone.stored.hits, "hits of questions without an answer are not fitted to"
    assert both.answerable.after.brier < both.answerable.before.brier


def test_a_handful_of_questions_is_refused() -> None:
    with pytest.raises(errors.BadRequest, match="4 questions have judged hits"):
        calibration.fit(questions(4, rate=0.5), [])
