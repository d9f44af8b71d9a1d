"""Fits and applies the linear function of the logit that calibrates probabilities on a user's judgements.

Platt scaling (Platt 1999) with a Gaussian prior around the identity: few judgements change little, many decide alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from app.database.calibration_types import LogitScale

LEAST_SLOPE = 0.05
"""The least slope. It is positive, so that calibration keeps the order of probabilities."""
STEPS, LARGEST_STEP, TOLERANCE = 100, 1.0, 1e-9


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
    """Returns the probability before the calibration."""
    return calibrated if scale == _IDENTITY else logistic((logit(calibrated) - scale.intercept) / scale.slope)


def fit(judged: Iterable[Judged], prior: Prior) -> LogitScale:
    """Returns the most probable scale, by Newton's method with bounded steps. Without judgements, the identity."""
    rows = [(logit(one.predicted), float(one.occurred), one.weight) for one in judged]
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


def logit(probability: float) -> float:
    """Returns the logarithm of the odds. The probability is first kept away from 0 and 1."""
    bounded = min(max(probability, 1e-9), 1 - 1e-9)
    return math.log(bounded / (1 - bounded))


def logistic(value: float) -> float:
    """Returns the probability with this logit."""
    return 1 / (1 + math.exp(-max(value, -700.0)))


_IDENTITY = LogitScale()
