"""Fits the coefficients of relevance, and the calibration of a user, to samples of questions.

Sets weigh the same in a fit, and so do the modes of each. Questions without an answer weigh less than the others, since
they only have to be told apart: their share among a user's questions is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.database.calibrations import LogitScale
from app.evaluation.metrics import Prediction
from app.relevance import logit_scales, relevance
from app.relevance.logit_scales import Judged, Prior
from benchmarks.relevance.features import Kind, Question, Sample

Array = npt.NDArray[np.float64]
RIDGE, STEPS, TOLERANCE = 0.1, 50, 1e-9
HITS, QUESTIONS = 1_000.0, 100.0
"""The weights of the hits, and of the questions, of a set in a mode."""
GROUPS = {"both": ("flat", "auto", "thorough"), "semantic": ("semantic",), "lexical": ("lexical",)}
"""The modes whose hits are assessed by the same coefficients, as long as no hop is made."""
KINDS: dict[Kind, float] = {"own": 1.0, "foreign": 0.2, "unanswerable": 0.2}
"""The weight of the hits of each kind of questions."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Values with a constant first, whether the event occurred, and the weight of each row."""

    features: Array
    occurred: Array
    weights: Array


@dataclass(frozen=True, slots=True)
class Model:
    """The coefficients by group: of `answerable`, and of relevance.

    `queries` are those of the best cosine and coverage, `hits` of the logit of a score and the logarithm of
    `answerable`, both after the intercept. `hits` has those of several hops too, as `hops`.
    """

    queries: dict[str, Array]
    hits: dict[str, Array]

    def answerable(self, question: Question, mode: str) -> float:
        """The probability that a question is answered."""
        values = np.array([1.0, question.cosine, question.coverage])
        return logit_scales.logistic(float(values @ self.queries[group_of(mode)]))

    def relevance(self, question: Question, mode: str) -> list[float]:
        """The relevance of the hits of a question."""
        chosen = self.hits["hops" if question.over_hops else group_of(mode)]
        return [logit_scales.logistic(float(logit)) for logit in self.features(question, mode) @ chosen]

    def features(self, question: Question, mode: str) -> Array:
        """The values from which the relevance of each hit follows."""
        count = len(question.scores)
        logarithm = np.log(self.answerable(question, mode))
        logits = np.array([relevance.score_logit(min(1.0, max(0.0, score))) for score in question.scores])
        return np.column_stack([np.ones(count), logits, np.full(count, logarithm)])

    @property
    def listed(self) -> dict[str, dict[str, list[float]]]:
        """The coefficients by name, rounded."""
        named = {"answerable": self.queries, "relevance": self.hits}
        return {
            name: {group: [round(float(value), 2) for value in values] for group, values in groups.items()}
            for name, groups in named.items()
        }


def group_of(mode: str) -> str:
    """The group of a mode, whose coefficients it shares."""
    return next(group for group, modes in GROUPS.items() if mode in modes)


def fit(samples: Sequence[Sample]) -> Model:
    """The coefficients that fit the samples best."""
    model = Model({}, {})
    for group, modes in GROUPS.items():
        of_group = [sample for sample in samples if sample.mode in modes]
        if of_group:
            model.queries[group] = logistic_regression(_stacked(_query_rows(of_group)))
            model.hits[group] = logistic_regression(_stacked(_hit_rows(model, of_group, over_hops=False)))
    model.hits["hops"] = logistic_regression(_stacked(_hit_rows(model, samples, over_hops=True)))
    return model


def _query_rows(samples: Sequence[Sample]) -> Iterator[Rows]:
    """The questions with as much weight of each kind."""
    for sample in samples:
        for kind in KINDS:
            if questions := sample.of(kind):
                features = np.array([[1.0, one.cosine, one.coverage] for one in questions])
                answered = np.full(len(questions), float(kind == "own"))
                yield Rows(features, answered, np.full(len(questions), QUESTIONS / len(questions)))


def _hit_rows(model: Model, samples: Sequence[Sample], *, over_hops: bool) -> Iterator[Rows]:
    for sample in samples:
        for kind, share in KINDS.items():
            if questions := [one for one in sample.of(kind) if one.over_hops == over_hops]:
                features = np.vstack([model.features(one, sample.mode) for one in questions])
                relevant = np.array([value for one in questions for value in one.relevant], dtype=float)
                yield Rows(features, relevant, np.full(len(relevant), share * HITS / len(relevant)))


def _stacked(found: Iterable[Rows]) -> Rows:
    rows = list(found)
    return Rows(
        np.vstack([one.features for one in rows]),
        np.concatenate([one.occurred for one in rows]),
        np.concatenate([one.weights for one in rows]),
    )


def logistic_regression(rows: Rows) -> Array:
    """Returns intercept and coefficients of a logistic regression with a ridge penalty, by Newton's method."""
    features, count = rows.features, rows.features.shape[1]
    penalty = RIDGE * np.diag([0.0, *[1.0] * (count - 1)])
    coefficients = np.zeros(count)
    for _ in range(STEPS):
        predicted = 1 / (1 + np.exp(-features @ coefficients))
        gradient = features.T @ (rows.weights * (rows.occurred - predicted)) - penalty @ coefficients
        curvature = (features * (rows.weights * predicted * (1 - predicted))[:, None]).T @ features + penalty
        step = np.linalg.solve(curvature, gradient)
        coefficients = coefficients + step
        if np.abs(step).max() < TOLERANCE:
            break
    return np.asarray(coefficients)


def calibrated(questions: Sequence[Sequence[Prediction]], prior: Prior) -> LogitScale:
    """The scale that `stepwell calibrate` fits to the predictions of judged questions."""
    judged = [
        Judged(predicted, occurred, relevance.weight(len(pairs)))
        for pairs in questions
        for predicted, occurred in pairs
    ]
    return logit_scales.fit(judged, prior)
