"""Measures predicted relevance on sets that the coefficients were not fitted to, with and without a calibration.

Confidence intervals are those of a bootstrap over questions (Efron 1979): the hits of a question are drawn together.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.evaluation import calibration
from app.evaluation.calibration import Calibration, Prediction
from app.ranking import logit_scales, relevance
from benchmarks.relevance import fitting
from benchmarks.relevance.features import Kind, Question, Sample
from benchmarks.relevance.fitting import Model

DRAWS = 200
INTERVAL = (0.025, 0.975)
JUDGED, FEWER_JUDGED, FEW = 30, 10, 60
"""Judged questions of a calibration; fewer of a set that has less than FEW questions."""
SPLITS = 20
SEED = 7


@dataclass(frozen=True, slots=True)
class Figures:
    """The agreement of predictions with judgements, and the interval of the difference of the Brier scores.

    `gain` is the Brier score of the base rate less that of the predictions.
    """

    calibration: Calibration
    gain: tuple[float, float]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A set in a mode, with the coefficients fitted to the other sets.

    `own` are its own questions. `rejected` has by kind of other questions the mean relevance of their hits and the mean
    of the best one. `answerable` has by kind the agreement of `answerable` on own questions and those.
    """

    sample: Sample
    own: Figures
    rejected: dict[Kind, tuple[float, float]]
    answerable: dict[Kind, Calibration]
    judged: Judged


@dataclass(frozen=True, slots=True)
class Judged:
    """The other questions of a set after a calibration to some: means over several choices of the judged ones.

    `noise` is the mean ECE of a perfectly calibrated predictor of that size, and the one that it exceeds in 5 %.
    """

    questions: int
    brier: float
    base_brier: float
    ece: float
    noise: tuple[float, float]


def leave_one_out(samples: Sequence[Sample]) -> Iterator[tuple[str, Model, list[LeftOut]]]:
    """Yields each set with the coefficients of the others, and the figures of its modes."""
    for name in dict.fromkeys(sample.name for sample in samples):
        model = fitting.fit([sample for sample in samples if sample.name != name])
        of_set = [sample for sample in samples if sample.name == name]
        every = [question for sample in of_set for question in sample.of("own")]
        yield name, model, [_left_out(model, sample, of_set) for sample in of_set if every]


def _left_out(model: Model, sample: Sample, of_set: Sequence[Sample]) -> LeftOut:
    own = sample.of("own")
    others = {kind: sample.of(kind) for kind in fitting.KINDS if kind != "own"}
    answered = [(model.answerable(one, sample.mode), True) for one in own]
    rejected: dict[Kind, tuple[float, float]] = {}
    assessed: dict[Kind, Calibration] = {}
    for kind, questions in others.items():
        if questions:
            hits = [model.relevance(one, sample.mode) for one in questions]
            best = sum(map(max, hits)) / len(hits)
            rejected[kind] = (sum(map(sum, hits)) / sum(map(len, hits)), best)
            pairs = [(model.answerable(one, sample.mode), False) for one in questions]
            assessed[kind] = calibration.of([*answered, *pairs])
    return LeftOut(sample, _figures(model, sample, own), rejected, assessed, _judged(model, sample, of_set))


def predictions(model: Model, questions: Sequence[Question], mode: str) -> list[list[Prediction]]:
    """What is predicted of the hits of each question, and whether they are relevant."""
    return [list(zip(model.relevance(one, mode), one.relevant, strict=True)) for one in questions]


def _figures(model: Model, sample: Sample, questions: Sequence[Question]) -> Figures:
    pairs = predictions(model, questions, sample.mode)
    flat = [pair for one in pairs for pair in one]
    return Figures(calibration.of(flat), _interval(pairs, lambda drawn: _gain(drawn)))


def _gain(pairs: Sequence[Prediction]) -> float:
    rate = sum(occurred for _, occurred in pairs) / len(pairs)
    brier = sum((probability - occurred) ** 2 for probability, occurred in pairs) / len(pairs)
    return rate * (1 - rate) - brier


def _interval(
    questions: Sequence[Sequence[Prediction]], measure: Callable[[Sequence[Prediction]], float]
) -> tuple[float, float]:
    """The interval in which 95 % of the bootstrap samples of the questions have the measure."""
    dice = random.Random(SEED)
    drawn = sorted(
        measure([pair for one in dice.choices(questions, k=len(questions)) for pair in one]) for _ in range(DRAWS)
    )
    low, high = (drawn[min(DRAWS - 1, int(share * DRAWS))] for share in INTERVAL)
    return low, high


def _judged(model: Model, sample: Sample, of_set: Sequence[Sample]) -> Judged:
    """The figures of the questions that a calibration was not fitted to.

    It is fitted as the command does: to the same questions in one search and over several hops.
    """
    asked = {one.mode: predictions(model, one.of("own"), one.mode) for one in of_set}
    pairs = asked[sample.mode]
    count = JUDGED if len(pairs) >= FEW else FEWER_JUDGED
    dice = random.Random(SEED)
    briers, bases, eces, after = [], [], [], []
    for _ in range(SPLITS):
        chosen = set(dice.sample(range(len(pairs)), count))
        fits = ("auto", "thorough") if sample.mode in ("flat", "auto", "thorough") else (sample.mode,)
        judged = [
            [pair for mode in fits for pair in asked[mode][index]]
            for index in chosen
            if all(index < len(asked[mode]) for mode in fits)
        ]
        scale = fitting.calibrated(judged, relevance.PRIOR)
        after = [
            (logit_scales.applied(scale, predicted), occurred)
            for index, one in enumerate(pairs)
            if index not in chosen
            for predicted, occurred in one
        ]
        found = calibration.of(after)
        briers.append(found.brier)
        bases.append(found.base_brier)
        eces.append(found.ece)
    return Judged(count, _mean(briers), _mean(bases), _mean(eces), _noise([predicted for predicted, _ in after]))


def _noise(predicted: Sequence[float]) -> tuple[float, float]:
    """The mean ECE, and its 95th percentile, if each event occurs with the probability that is predicted."""
    values, dice = np.array(predicted), np.random.default_rng(SEED)
    bins = np.minimum(calibration.BINS - 1, (values * calibration.BINS).astype(int))
    sums = np.bincount(bins, values, calibration.BINS)
    found = []
    for _ in range(DRAWS):
        occurred = np.bincount(bins, dice.random(len(values)) < values, calibration.BINS)
        found.append(float(np.abs(sums - occurred).sum() / len(values)))
    return _mean(found), sorted(found)[int(0.95 * DRAWS)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
