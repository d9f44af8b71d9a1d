"""Fits and applies the linear function of the logit that calibrates probabilities on a user's judgements.

Platt scaling (Platt 1999) with a Gaussian prior around the identity: few judgements change little, many decide alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.database.calibrations import LogitScale

LEAST_SLOPE = 0.05
"""The order of probabilities is kept."""
STEPS, HALVINGS, TOLERANCE = 50, 30, 1e-9


@dataclass(frozen=True, slots=True)
class Judged:
    """A predicted probability, whether the event occurred, and the weight of the pair in a fit."""

    predicted: float
    occurred: bool
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Prior:
    """The standard deviations of intercept and slope over collections."""

    intercept: float
    slope: float


def apply(scale: LogitScale, probability: float) -> float:
    """Returns the calibrated probability."""
    return probability if scale == _IDENTITY else logistic(scale.intercept + scale.slope * logit(probability))


def remove(scale: LogitScale, calibrated: float) -> float:
    """Returns the probability of which this is the calibrated one."""
    return calibrated if scale == _IDENTITY else logistic((logit(calibrated) - scale.intercept) / scale.slope)


def fit(judged: Iterable[Judged], prior: Prior) -> LogitScale:
    """Returns the most probable scale by Newton's method with step halving; the identity without judgements."""
    rows = [(logit(one.predicted), float(one.occurred), one.weight) for one in judged]
    scale = LogitScale()
    best = _log_posterior(rows, prior, scale)
    for _ in range(STEPS):
        step = _step(rows, prior, scale)
        gained = 0.0
        for _ in range(HALVINGS):
            moved = LogitScale(scale.intercept + step[0], scale.slope + step[1])
            gained = _log_posterior(rows, prior, moved) - best
            if gained >= 0:
                scale, best = moved, best + gained
                break
            step = (step[0] / 2, step[1] / 2)
        if gained < TOLERANCE:
            break
    return LogitScale(scale.intercept, max(scale.slope, LEAST_SLOPE))


Rows = Sequence[tuple[float, float, float]]
"""Logit, whether the event occurred (1 or 0), and weight."""


def _log_posterior(rows: Rows, prior: Prior, scale: LogitScale) -> float:
    """The logarithm of the posterior density, up to a constant."""
    total = -((scale.intercept / prior.intercept) ** 2 + ((scale.slope - 1) / prior.slope) ** 2) / 2
    for x, occurred, weight in rows:
        value = scale.intercept + scale.slope * x
        # log(σ(v)) for an event and log(1 − σ(v)) otherwise, without overflow.
        signed = value if occurred else -value
        total += weight * (min(signed, 0.0) - math.log1p(math.exp(-abs(signed))))
    return total


def _step(rows: Rows, prior: Prior, scale: LogitScale) -> tuple[float, float]:
    """The step of Newton's method from a scale: the inverse of the curvature times the gradient."""
    precision = (prior.intercept**-2, prior.slope**-2)
    first, second = -scale.intercept * precision[0], (1 - scale.slope) * precision[1]
    a, b, c = precision[0], 0.0, precision[1]
    for x, occurred, weight in rows:
        predicted = logistic(scale.intercept + scale.slope * x)
        rest, curvature = weight * (occurred - predicted), weight * predicted * (1 - predicted)
        first, second = first + rest, second + rest * x
        a, b, c = a + curvature, b + curvature * x, c + curvature * x * x
    determinant = a * c - b * b
    return (c * first - b * second) / determinant, (a * second - b * first) / determinant


def logit(probability: float) -> float:
    """Returns the logarithm of the odds, of a probability that is kept off 0 and 1."""
    bounded = min(max(probability, 1e-9), 1 - 1e-9)
    return math.log(bounded / (1 - bounded))


def logistic(value: float) -> float:
    """Returns the probability of which this is the logit."""
    return 1 / (1 + math.exp(-max(value, -700.0)))


_IDENTITY = LogitScale()
