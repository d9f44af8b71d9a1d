"""Measures predicted relevance on sets that the coefficients were not fitted to, with and without a calibration.

Confidence intervals are those of a bootstrap over questions (Efron 1979): the hits of a question are drawn together.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from app.evaluation import metrics
from app.evaluation.metrics import Calibration, Prediction
from app.relevance import logit_scales, relevance
from app.relevance.logit_scales import Prior
from benchmarks.relevance import fitting
from benchmarks.relevance.features import Kind, Question, Sample
from benchmarks.relevance.fitting import Model

DRAWS = 200
INTERVAL = (0.025, 0.975)
JUDGED, FEWER_JUDGED, FEW = 30, 10, 60
"""Judged questions of a calibration; fewer of a set that has less than FEW questions."""
SPLITS = 20
SEED = 7
ANY_SCALE = Prior(50.0, 50.0)
STANDARD = NormalDist()


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

    `constant_brier` is the Brier score of predicting the share of the judged questions' hits that are relevant. `noise`
    is the mean ECE, and its 95th percentile, of predictions that need nothing but a calibration, after one to as many
    judged questions, if the hits of a question are correlated as much as they are in the set.
    """

    questions: int
    brier: float
    base_brier: float
    constant_brier: float
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
            assessed[kind] = metrics.measure_calibration([*answered, *pairs])
    return LeftOut(sample, _figures(model, sample, own), rejected, assessed, _judged(model, sample, of_set))


def predictions(model: Model, questions: Sequence[Question], mode: str) -> list[list[Prediction]]:
    """What is predicted of the hits of each question, and whether they are relevant."""
    return [list(zip(model.relevance(one, mode), one.relevant, strict=True)) for one in questions]


def _figures(model: Model, sample: Sample, questions: Sequence[Question]) -> Figures:
    pairs = predictions(model, questions, sample.mode)
    flat = [pair for one in pairs for pair in one]
    return Figures(metrics.measure_calibration(flat), _interval(pairs, lambda drawn: _gain(drawn)))


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

    It is fitted as the command does: to hits of searches by default, or to hits over several hops.
    """
    mode, fitted_to = sample.mode, "auto" if sample.mode == "flat" else sample.mode
    asked = {one.mode: predictions(model, one.of("own"), one.mode) for one in of_set if one.mode in (mode, fitted_to)}
    every = len(asked[mode])
    count = JUDGED if every >= FEW else FEWER_JUDGED
    dice, noise = random.Random(SEED), np.random.default_rng(SEED)
    perfect = {mode: _Perfect.of(questions) for mode, questions in asked.items()}
    found, simulated, constants = [], [], []
    for _ in range(SPLITS):
        judged = set(dice.sample(range(every), count))
        found.append(_calibrated(asked[fitted_to], asked[mode], judged))
        constants.append(_constant(asked[mode], judged))
        effects = noise.standard_normal(max(map(len, asked.values()))).tolist()
        drawn = {mode: one.drawn(effects, noise) for mode, one in perfect.items()}
        simulated.append(_calibrated(drawn[fitted_to], drawn[mode], judged).ece)
    of_noise = (_mean(simulated), sorted(simulated)[int(0.95 * SPLITS)])
    briers, bases = [one.brier for one in found], [one.base_brier for one in found]
    ece = _mean([one.ece for one in found])
    return Judged(count, _mean(briers), _mean(bases), _mean(constants), ece, of_noise)


Asked = Sequence[Sequence[Prediction]]
"""The predictions for the hits of each question."""


def _calibrated(fitted_to: Asked, asked: Asked, judged: Set[int]) -> Calibration:
    """The agreement on the other questions, after a calibration to the judged ones."""
    hits = [fitted_to[index] for index in judged if index < len(fitted_to)]
    scale = fitting.calibrated(hits, relevance.PRIOR)
    return metrics.measure_calibration(
        (logit_scales.apply(scale, value), occurred) for value, occurred in _others(asked, judged)
    )


def _constant(asked: Asked, judged: Set[int]) -> float:
    """The Brier score of the judged questions' share of relevant hits on the other questions."""
    known = [occurred for index in judged for _, occurred in asked[index]]
    return metrics.measure_calibration(
        (sum(known) / len(known), occurred) for _, occurred in _others(asked, judged)
    ).brier


def _others(asked: Asked, judged: Set[int]) -> Iterator[Prediction]:
    for index, one in enumerate(asked):
        if index not in judged:
            yield from one


@dataclass(frozen=True, slots=True)
class _Perfect:
    """Predictions, and the probabilities with which hits are relevant if the predictions need a calibration only.

    `correlation` is that of the hits of a question, by a Gaussian copula.
    """

    predicted: Sequence[Sequence[float]]
    probabilities: Sequence[Sequence[float]]
    correlation: float

    @classmethod
    def of(cls, questions: Sequence[Sequence[Prediction]]) -> _Perfect:
        """The probabilities are the predictions, calibrated to all of the questions."""
        scale = fitting.calibrated(questions, ANY_SCALE)
        predicted = [[value for value, _ in one] for one in questions]
        probabilities = [[logit_scales.apply(scale, value) for value in one] for one in predicted]
        return cls(predicted, probabilities, _correlation(questions, probabilities))

    def drawn(self, effects: Sequence[float], noise: np.random.Generator) -> list[list[Prediction]]:
        """The predictions with outcomes drawn for them; `effects` has a standard normal number a question."""
        shared, own = self.correlation**0.5, (1 - self.correlation) ** 0.5
        return [
            [
                (value, bool(shared * effect + own * noise.standard_normal() < STANDARD.inv_cdf(chance)))
                for value, chance in zip(values, chances, strict=True)
            ]
            for values, chances, effect in zip(self.predicted, self.probabilities, effects, strict=False)
        ]


def _correlation(questions: Sequence[Sequence[Prediction]], probabilities: Sequence[Sequence[float]]) -> float:
    """The mean product of the standardised errors of two hits of a question, as the correlation of a Gaussian copula.

    A correlation of events is about two thirds of that of the normal numbers behind them.
    """
    products, pairs = 0.0, 0
    for one, chances in zip(questions, probabilities, strict=True):
        errors = [
            (is_so - chance) / (chance * (1 - chance)) ** 0.5 for (_, is_so), chance in zip(one, chances, strict=True)
        ]
        products += sum(errors) ** 2 - sum(error**2 for error in errors)
        pairs += len(errors) * (len(errors) - 1)
    return min(0.9, max(0.0, 1.5 * products / pairs))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
