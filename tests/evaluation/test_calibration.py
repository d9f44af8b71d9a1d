"""A calibration is fitted to judged questions, and measured on questions that it was not fitted to."""

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
from harness import Tenant

from app import errors
from app.database.calibration_types import LogitScale, RelevanceCalibration
from app.evaluation import calibration
from app.evaluation.beir import JudgedQuestion
from app.evaluation.calibration import AskedQuestion, Prior
from app.evaluation.metrics import Prediction
from app.relevance import relevance
from benchmarks.fake_embedder import FakeEmbedder


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


@pytest.mark.parametrize(("grades", "has_answer"), [({"d": 2}, True), ({"d": 0}, False), ({"d": -1}, False)])
def test_a_question_without_a_grade_above_0_has_no_answer(grades: dict[str, float], has_answer: bool) -> None:
    hit = SimpleNamespace(relevance=0.4, candidate=SimpleNamespace(uri="d", document_id="1"))
    found = SimpleNamespace(hits=[hit], hops=None, explain={"relevance": {"answered": 0.5}})
    asked = calibration._assess([found], grades, RelevanceCalibration(), only_judged=False)
    assert (asked.relevance, asked.answerable) == ([(0.4, has_answer)], [(0.5, has_answer)])
    asked = calibration._assess([found], grades, RelevanceCalibration(), only_judged=True)
    assert asked.answerable == ([(0.5, True)] if has_answer else []), "other hits may answer it"


def test_a_handful_of_questions_is_refused() -> None:
    with pytest.raises(errors.BadRequest, match="4 questions have judged hits"):
        calibration.fit(questions(4, rate=0.5), [])


@pytest.mark.parametrize("rate", [0, 1])
def test_hits_that_are_all_judged_alike_are_refused(rate: float) -> None:
    with pytest.raises(errors.BadRequest, match="both are needed"):
        calibration.fit(questions(30, rate=rate), [])


async def test_a_calibration_without_the_vectors_of_its_questions_is_refused(tenant: Tenant) -> None:
    tenant.embedder = FakeEmbedder(failing=True)
    judged = calibration.Judgements([JudgedQuestion("1", "lime", {"wall": 1})])
    with pytest.raises(errors.ProviderError, match="calibrate once it answers"):
        await calibration.fit_user(judged, tenant.user_id, tenant.services())


PRIOR = Prior(intercept=1.0, slope=0.5)


def drawn(scale: LogitScale, count: int, seed: int = 3) -> list[list[Prediction]]:
    """Predictions, and outcomes that occur with the probability that a scale makes of them."""
    dice = random.Random(seed)
    predictions = [dice.uniform(0.02, 0.9) for _ in range(count)]
    return [[(one, dice.random() < relevance.calibrate(scale, one))] for one in predictions]


def test_many_judgements_decide_and_few_change_little() -> None:
    true = LogitScale(1.2, 0.6)
    many, few = (calibration.fit_scale(drawn(true, count), PRIOR) for count in (8_000, 4))
    assert (many.intercept, many.slope) == (pytest.approx(1.2, abs=0.1), pytest.approx(0.6, abs=0.06))
    assert abs(few.intercept) < abs(many.intercept)
    assert calibration.fit_scale([], PRIOR) == LogitScale()


def test_judgements_against_the_order_do_not_reverse_it() -> None:
    reversed_ = [[(0.9, False)], [(0.1, True)]] * 500
    assert calibration.fit_scale(reversed_, PRIOR).slope == calibration.LEAST_SLOPE
