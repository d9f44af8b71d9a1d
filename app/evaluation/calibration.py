"""Fits the calibration of a user's relevance to judged questions, and measures how well it predicts other questions.

Each question is asked in one search and over several hops. The fit is Platt scaling (Platt 1999) with a Gaussian prior
around the identity: few judgements change little, many decide alone. The measurement is cross-validated: the hits of a
question are assessed by a fit to the questions of other folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from app import errors
from app.database.calibration_types import LogitScale, RelevanceCalibration, StoredCalibration
from app.evaluation import metrics, runner
from app.evaluation.beir import JudgedQuestion
from app.evaluation.metrics import Calibration, Prediction
from app.query.search_types import Answer
from app.relevance import calibration_store as calibrations
from app.relevance import relevance
from app.services import Services
from app.text import uris

STRATEGIES = (runner.Strategy("auto"), runner.Strategy("multihop"))
FOLDS = 5
LEAST_QUESTIONS = 5
LEAST_SLOPE = 0.05
"""The least slope. It is positive, so that calibration keeps the order of probabilities."""
STEPS, LARGEST_STEP, TOLERANCE = 100, 1.0, 1e-9
CORRELATION = 0.1
"""The correlation of the errors for two hits of one question."""


@dataclass(frozen=True, slots=True)
class Prior:
    """The standard deviations of intercept and slope over collections."""

    intercept: float
    slope: float


PRIOR, ANSWERABLE_PRIOR = Prior(1.5, 0.5), Prior(1.5, 0.3)
"""How much the calibrations of collections differ. For the nine sets, the standard deviation of the slope is .4 in one
search and .6 over several hops (docs/decisions/0060-relevance-for-any-model.md)."""


@dataclass(frozen=True, slots=True)
class Judgements:
    """Questions with judged documents, by URI or id, and questions that the documents do not answer.

    A document without a judgement counts as irrelevant; with `only_judged` it is ignored.
    """

    questions: Sequence[JudgedQuestion]
    unanswerable: Sequence[JudgedQuestion] = ()
    only_judged: bool = False


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """The uncalibrated predictions for one question.

    `relevance` has the hits of one search, `hops` the hits over several hops. `answerable` has one for each strategy.
    """

    relevance: Sequence[Prediction]
    answerable: Sequence[Prediction]
    hops: Sequence[Prediction] = ()

    @property
    def every_hit(self) -> list[Prediction]:
        """The relevance of the hits of one search and over several hops."""
        return [*self.relevance, *self.hops]


@dataclass(frozen=True, slots=True)
class Effect:
    """How well predictions agree with judgements: before, with the defaults; after, calibrated on the other folds."""

    before: Calibration
    after: Calibration


@dataclass(frozen=True, slots=True)
class Fitted:
    """A calibration, and its effect on relevance and on `answerable` (None if that cannot be measured)."""

    stored: StoredCalibration
    relevance: Effect
    answerable: Effect | None

    @property
    def helps(self) -> bool:
        """Whether it improves the predicted relevance for questions that it was not fitted to."""
        return self.relevance.after.brier < self.relevance.before.brier


async def fit_user(
    judgements: Judgements, user_id: str, services: Services, *, progress: Callable[[int, int], None] = lambda *_: None
) -> Fitted:
    """Search a user's documents for the questions and fit a calibration; stores nothing.

    Raises BadRequest for too few questions with judged hits, ProviderError if a question cannot be embedded.
    """
    stored = await calibrations.get(user_id, db=services.db)
    current = stored.calibration if stored else RelevanceCalibration()
    every = [(one.text, one.relevant) for one in judgements.questions]
    every += [(one.text, {}) for one in judgements.unanswerable]
    asked = []
    for index, (text, grades) in enumerate(every):
        answers = [await runner.answer(text, strategy, user_id, services, explain=True) for strategy in STRATEGIES]
        if any("embedding_failed" in one.degraded for one in answers):
            raise errors.ProviderError("The embedding model failed: calibrate once it answers.")
        asked.append(_assess(answers, grades, current, only_judged=judgements.only_judged))
        progress(index + 1, len(every))
    return fit(asked[: len(judgements.questions)], asked[len(judgements.questions) :])


def _assess(
    answers: Sequence[Answer], grades: Mapping[str, float], current: RelevanceCalibration, *, only_judged: bool
) -> AskedQuestion:
    """The predictions in the answers to one question, with the current calibration of the hits removed."""
    hits: dict[bool, list[Prediction]] = {False: [], True: []}
    answered: list[Prediction] = []
    for found in answers:
        has_hops = found.hops is not None
        for hit in found.hits[: runner.ASSESSED_HITS]:
            names = (*uris.spellings(hit.candidate.uri or ""), str(hit.candidate.document_id))
            grade = next((grades[name] for name in names if name in grades), None)
            if hit.relevance is not None and not (grade is None and only_judged):
                scale = current.hops if has_hops else current.relevance
                hits[has_hops].append((relevance.uncalibrate(scale, hit.relevance), (grade or 0) > 0))
        has_answer = any(grade > 0 for grade in grades.values())
        # A hit that did not help does not say that no other one does.
        if found.hits and found.explain and (has_answer or not (only_judged and grades)):
            answered.append((found.explain["relevance"]["answered"], has_answer))
    return AskedQuestion(hits[False], answered, hits[True])


def fit(questions: Sequence[AskedQuestion], unanswerable: Sequence[AskedQuestion]) -> Fitted:
    """The calibration that fits best, and its effect. Raises BadRequest for too few questions with judged hits."""
    judged = [one for one in questions if one.every_hit]
    if len(judged) < LEAST_QUESTIONS:
        raise errors.BadRequest(
            f"{len(judged)} questions have judged hits; at least {LEAST_QUESTIONS} are needed, thirty are better."
        )
    # With outcomes of one kind only, a fit would learn to predict the same one for everything.
    if not _has_both([one.every_hit for one in judged]):
        raise errors.BadRequest(
            "The judged hits are all relevant, or all irrelevant: both are needed. Documents are named by URI or id."
        )
    answers = [one.answerable for one in (*judged, *unanswerable) if one.answerable]
    has_both = _has_both(answers)
    scales = RelevanceCalibration(
        fit_scale([one.relevance for one in judged], PRIOR),
        fit_scale(answers, ANSWERABLE_PRIOR) if has_both else LogitScale(),
        fit_scale([one.hops for one in judged], PRIOR),
    )
    now = datetime.now(UTC).replace(microsecond=0)
    stored = StoredCalibration(scales, len(judged), sum(len(one.every_hit) for one in judged), now)
    of_hits = [
        *_cross_validate([one.relevance for one in judged], PRIOR),
        *_cross_validate([one.hops for one in judged], PRIOR),
    ]
    measured = _measure(_cross_validate(answers, ANSWERABLE_PRIOR)) if has_both else None
    return Fitted(stored, _measure(of_hits), measured)


def _has_both(questions: Sequence[Sequence[Prediction]]) -> bool:
    return {occurred for pairs in questions for _, occurred in pairs} == {True, False}


def fit_scale(questions: Sequence[Sequence[Prediction]], prior: Prior) -> LogitScale:
    """The most probable scale for the predictions of questions, by Newton's method with bounded steps.

    Without predictions it is the identity. Predictions for one question are correlated, so they count as fewer (Kish
    1965).
    """
    rows = [
        (relevance.logit(predicted), float(occurred), 1 / (1 + CORRELATION * (len(pairs) - 1)))
        for pairs in questions
        for predicted, occurred in pairs
    ]
    x, occurred, weights = np.array(rows).reshape(-1, 3).T
    values, mean = np.column_stack([np.ones(len(x)), x]), np.array([0.0, 1.0])
    precision = np.diag([prior.intercept**-2, prior.slope**-2])
    found = mean
    for _ in range(STEPS):
        predicted = 1 / (1 + np.exp(-np.clip(values @ found, -700, 700)))
        gradient = values.T @ (weights * (occurred - predicted)) - precision @ (found - mean)
        curvature = (values.T * (weights * predicted * (1 - predicted))) @ values + precision
        step = np.clip(np.linalg.solve(curvature, gradient), -LARGEST_STEP, LARGEST_STEP)
        found = found + step
        if np.abs(step).max() < TOLERANCE:
            break
    return LogitScale(float(found[0]), max(float(found[1]), LEAST_SLOPE))


Folded = Sequence[tuple[Prediction, Prediction]]
"""Predictions before and after a calibration to the questions of other folds."""


def _cross_validate(questions: Sequence[Sequence[Prediction]], prior: Prior) -> Folded:
    found: list[tuple[Prediction, Prediction]] = []
    for fold in range(FOLDS):
        scale = fit_scale([pairs for index, pairs in enumerate(questions) if index % FOLDS != fold], prior)
        others = (pairs for index, pairs in enumerate(questions) if index % FOLDS == fold)
        found += [
            ((predicted, occurred), (relevance.calibrate(scale, predicted), occurred))
            for pairs in others
            for predicted, occurred in pairs
        ]
    return found


def _measure(folded: Folded) -> Effect:
    before, after = zip(*folded, strict=True)
    return Effect(metrics.measure_calibration(before), metrics.measure_calibration(after))
