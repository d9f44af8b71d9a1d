"""Fits the coefficients of relevance on all evaluation sets but one and measures them on that one, for each set.

A set has its own questions and as many that other sets ask, which it does not answer. Sets weigh the same in a fit.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.evaluation import beir, calibration, runner
from app.evaluation.calibration import Calibration
from app.evaluation.runner import ASSESSED_HITS, Strategy, Tenant
from app.pipelines.running.services import Services
from app.ranking import relevance
from app.shapes import Answer, Term

Array = npt.NDArray[np.float64]
FLAT = Strategy("flat")
RIDGE, STEPS, TOLERANCE = 1.0, 50, 1e-9
SEED = 1


@dataclass(frozen=True, slots=True)
class Sample:
    """The hits of one set's questions: 1, cosine and coverage by hit, and whether it is relevant.

    `best` has the values of each question's best hit by the landed coefficients, `answered` whether the set answers it.
    """

    name: str
    features: Array
    relevant: Array
    best: Array
    answered: Array


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The coefficients fitted without a set, and the calibration on it; `answerable` has an AUROC only."""

    name: str
    coefficients: Array
    relevance: Calibration
    answerable: float | None


async def collect(folders: Sequence[Path], services: Services) -> list[Sample]:
    """Ingests the sets and asks each its own questions and others."""
    chance = random.Random(SEED)
    sets = {folder: beir.load(folder) for folder in folders}
    samples = []
    for folder, loaded in sets.items():
        tenant = Tenant.of(str(folder))
        await runner.run(replace(loaded, questions=()), FLAT, tenant, services=services)
        others = [question for other, found in sets.items() if other != folder for question in found.questions]
        wrong = chance.sample(others, min(len(others), len(loaded.questions)))
        asked = [(question.text, question.relevant) for question in loaded.questions]
        asked += [(question.text, {}) for question in wrong]
        samples.append(await _sample(folder.name, asked, tenant.user_id, services))
    return samples


async def _sample(name: str, asked: Sequence[tuple[str, dict[str, int]]], user_id: str, services: Services) -> Sample:
    features, relevant, best, answered = [], [], [], []
    for text, grades in asked:
        query = replace(FLAT.query(text, user_id, services), explain=True)
        answer = await runner.answer(query, FLAT, services)
        rows = _features(answer)
        if not rows:
            continue
        features += rows
        relevant += [grades.get(str(hit.candidate.uri), 0) > 0 for hit in answer.hits[:ASSESSED_HITS]]
        best.append(max(rows, key=_landed))
        answered.append(bool(grades))
    return Sample(name, *(np.array(values, dtype=float) for values in (features, relevant, best, answered)))


def _landed(row: tuple[float, float, float]) -> float:
    """The linear predictor of a hit by the coefficients in use."""
    chosen = relevance.BOTH["all-MiniLM-L6-v2"]
    return chosen.intercept + chosen.cosine * row[1] + chosen.coverage * row[2]


def _features(answer: Answer) -> list[tuple[float, float, float]]:
    terms = [Term(**term) for term in (answer.explain or {})["terms"]]
    bound = relevance.upper_bound(terms)
    return [
        (1.0, hit.candidate.cosine or 0.0, min(1.0, (hit.candidate.text_score or 0.0) / bound))
        for hit in answer.hits[:ASSESSED_HITS]
    ]


def leave_one_out(samples: Sequence[Sample]) -> list[LeftOut]:
    """Returns the figures for each set with the coefficients of the others."""
    found = []
    for left in samples:
        coefficients = fit([sample for sample in samples if sample is not left])
        predicted = _logistic(left.features @ coefficients)
        answers = list(zip((left.best @ coefficients).tolist(), left.answered.astype(bool).tolist(), strict=True))
        pairs = zip(predicted.tolist(), left.relevant.astype(bool).tolist(), strict=True)
        found.append(LeftOut(left.name, coefficients, calibration.of(pairs), calibration.auroc(answers)))
    return found


def fit(samples: Sequence[Sample]) -> Array:
    """Returns intercept and coefficients of a logistic regression with a ridge penalty, by Newton's method."""
    features = np.vstack([sample.features for sample in samples])
    relevant = np.concatenate([sample.relevant for sample in samples])
    size = len(relevant) / len(samples)
    weights = np.concatenate([np.full(len(sample.relevant), size / len(sample.relevant)) for sample in samples])
    penalty = RIDGE * np.diag([0.0, 1.0, 1.0])
    coefficients = np.zeros(3)
    for _ in range(STEPS):
        predicted = _logistic(features @ coefficients)
        gradient = features.T @ (weights * (relevant - predicted)) - penalty @ coefficients
        curvature = (features * (weights * predicted * (1 - predicted))[:, None]).T @ features + penalty
        step = np.linalg.solve(curvature, gradient)
        coefficients = coefficients + step
        if np.abs(step).max() < TOLERANCE:
            break
    return coefficients


def _logistic(values: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-values)))
