"""Fits the coefficients of relevance to evaluation sets, and measures them on sets and models that were left out.

A set is asked its own questions, and questions of others, which are far from its documents. Then the relevant documents
of half of its questions are deleted, and its own questions are asked again: those that have lost all of them are near
to what is stored, and have no answer. `collect` writes what was found, so that a fit asks nothing again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from app.evaluation import beir, metrics, runner
from app.evaluation.beir import EvaluationSet, JudgedQuestion
from app.evaluation.metrics import Calibration, Prediction
from app.evaluation.runner import ASSESSED_HITS, Strategy, Tenant
from app.query import scoring_constants
from app.query.hop_signal_weights import BY_NAME
from app.query.search_types import Answer, Hit
from app.relevance import relevance
from app.relevance.relevance import MeanEffect
from app.search import answer_completion
from app.services import Services

Array = npt.NDArray[np.float64]
Kind = Literal["own", "far", "near"]
"""A question with an answer, one of another set, and one whose relevant documents were deleted."""
Store = Literal["whole", "half"]
MODES = {"flat": Strategy("auto"), "hops": Strategy("multihop")}
QUESTIONS, FAR = 120, 60
"""Questions of a set, and of others, that are asked."""
SEED = 5
RIDGE, STEPS, TOLERANCE = 0.1, 60, 1e-8
QUERY_WEIGHTS: dict[Store, float] = {"whole": 20.0, "half": 300.0}
"""Of the questions of a set, whatever their number. Those that are far are told apart by any coefficients."""
HIT_WEIGHT = 1_000.0
"""Of the hits of a set."""
HIT_SHARES: dict[tuple[Store, bool], float] = {("whole", True): 1.0, ("half", True): 0.5, ("whole", False): 0.2}
"""The weight of the hits of a set by store, and by whether the questions are its own."""
FEATURES = {
    "both": ("cosine", "closeness"),
    "vector": ("cosine",),
    "text": ("closeness",),
    "foreign": ("cosine",),
    "unread": ("cosine",),
}
"""What a query is assessed by: both legs, one of them, or for a query in another language, which the model reads or
not, the cosine alone."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a question finds: the values that it is assessed by, and its first hits, best first.

    `scores` order the hits, on the scale of relevance; `over_hops`: a name leads to a hit, and they are sums of signals
    as shares of the largest.
    """

    kind: Kind
    group: str
    cosine: float
    closeness: float
    is_capped: bool
    scores: Sequence[float]
    relevant: Sequence[bool]
    over_hops: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """The questions that were asked of one set, whole or without half of its answers, with one model in one mode."""

    model: str
    name: str
    store: Store
    mode: str
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Fit:
    """The coefficients, with the intercept first: of `answered` by group, and of a hit in one search and over hops."""

    queries: dict[str, Array]
    hits: dict[bool, Array]

    def answered(self, one: Question) -> float:
        """Returns the probability that a question is answered."""
        coefficients = self.queries[one.group]
        values = [1.0, *(getattr(one, name) for name in FEATURES[one.group])]
        found = relevance.logistic(float(coefficients @ np.array(values)))
        return min(found, relevance.UNKNOWN_NAME) if one.is_capped else found

    def relevance(self, one: Question) -> list[float]:
        """Returns the relevance of the hits of a question."""
        return [self.answered(one) * float(share) for share in _logistic(_hit_values(one) @ self.hits[one.over_hops])]

    def answerable(self, one: Question) -> float:
        """Returns the probability that one of the hits of a question answers it."""
        known = self.relevance(one)
        return max(*known, min(self.answered(one), 1 - float(np.prod([1 - value for value in known]))))


async def collect(folders: Sequence[Path], services: Services, file: Path) -> None:
    """Stores the sets, asks the questions, and appends the samples of each set to a file."""
    sets = {folder: beir.load(folder) for folder in folders}
    for folder, loaded in sets.items():
        chance = random.Random(SEED)
        own = chance.sample(loaded.questions, min(QUESTIONS, len(loaded.questions)))
        others = [one for other, found in sets.items() if other != folder for one in found.questions]
        far = [replace(one, relevant={}) for one in chance.sample(others, min(FAR, len(others)))]
        asking = _Asking(folder, loaded, services)
        await asking.store()
        found = [*await asking.ask([*own, *far], "whole")]
        await asking.delete({name for one in own[::2] for name in one.relevant})
        found += await asking.ask(own, "half")
        with file.open("a", encoding="utf-8") as lines:
            lines.writelines(json.dumps(asdict(sample)) + "\n" for sample in found)


@dataclass(slots=True)
class _Asking:
    folder: Path
    loaded: EvaluationSet
    services: Services

    @property
    def tenant(self) -> Tenant:
        return Tenant.of(str(self.folder))

    async def store(self) -> None:
        await runner.run(replace(self.loaded, questions=()), MODES["flat"], self.tenant, services=self.services)

    async def delete(self, names: set[str]) -> None:
        """Delete the documents with these names."""
        kept = tuple(one for one in self.loaded.documents if one.uri not in names)
        self.loaded = replace(self.loaded, documents=kept)
        await self.store()

    async def ask(self, questions: Sequence[JudgedQuestion], store: Store) -> list[Sample]:
        """Ask the questions of what is stored."""
        stored, model = {one.uri for one in self.loaded.documents}, self.services.embedder.model.name
        samples = []
        for mode, strategy in MODES.items():
            found = []
            for one in questions:
                answer = await runner.answer(one.text, strategy, self.tenant.user_id, self.services, explain=True)
                kind: Kind = "far" if not one.relevant else "own" if stored.intersection(one.relevant) else "near"
                found += [_question(kind, one, answer)] if answer.hits else []
            samples.append(Sample(model, self.folder.name, store, mode, found))
        return samples


def _question(kind: Kind, asked: JudgedQuestion, answer: Answer) -> Question:
    explained, hits = answer.explain or {}, answer.hits[:ASSESSED_HITS]
    known = explained["relevance"]
    over_hops = any(name in (hit.explain or {}).get("signals", {}) for hit in hits for name in BY_NAME)
    return Question(
        kind,
        _group(known),
        known["best_cosine"] or 0.0,
        known["closeness"] or 0.0,
        known["unknown_names"],
        [_score(hit, answer, known, over_hops=over_hops) for hit in hits],
        [asked.relevant.get(str(hit.candidate.uri), 0) > 0 for hit in hits],
        over_hops,
    )


def _group(known: dict[str, Any]) -> str:
    if known["best_cosine"] is None:
        return "text"
    if known["other_language"]:
        return "foreign" if known["language_read"] else "unread"
    return "vector" if known["closeness"] is None else "both"


def _score(hit: Hit, answer: Answer, known: dict[str, Any], *, over_hops: bool) -> float:
    if over_hops:
        return float((hit.combined_score or 0.0) / (hit.explain or {})["best"])
    scaled = answer_completion.score_before_reranking(hit) ** scoring_constants.EXPONENTS[answer.fusion or "convex"]
    return MeanEffect(**known["entities"]).remove(scaled)


def load(files: Sequence[Path]) -> list[Sample]:
    """Reads the samples that `collect` has written."""
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [Sample(**{**row, "questions": [Question(**one) for one in row["questions"]]}) for row in rows]


def fit(samples: Sequence[Sample]) -> Fit:
    """Returns the coefficients that fit the samples best: those of the queries, then those of the hits."""
    rows = {group: _query_rows(samples, group) for group in FEATURES}
    fitted = Fit({group: _maximise(found, [1.0] * len(found)) for group, found in rows.items() if found}, {})
    for over_hops in (False, True):
        fitted.hits[over_hops] = _fit_hits(fitted, samples, over_hops=over_hops)
    return fitted


Evidence = tuple[list[float], float, float]
"""The values of a question or a hit, a constant first; whether the event occurred; and the weight of both."""


def _query_rows(samples: Sequence[Sample], group: str) -> list[Evidence]:
    """The questions that were assessed by this, with as much weight of each kind.

    One leg alone is fitted to the questions that were assessed by both.
    """
    source = "both" if group in ("vector", "text") else group
    return [
        (_values(one, group), float(is_own), QUERY_WEIGHTS[sample.store] / 2 / len(asked))
        for sample in samples
        if sample.mode == "flat"
        for is_own in (True, False)
        for asked in [[one for one in sample.questions if (one.kind == "own") == is_own]]
        for one in asked
        if one.group in (source, group)
    ]


def _values(one: Question, group: str) -> list[float]:
    """Returns the values of a question, a constant first."""
    return [1.0, *(getattr(one, name) for name in FEATURES[group])]


def _fit_hits(fitted: Fit, samples: Sequence[Sample], *, over_hops: bool) -> Array:
    """The same on hits, whose relevance is a factor of the probability that the question is answered."""
    rows, factors = [], []
    for sample in samples:
        for is_own in (True, False):
            asked = [one for one in sample.questions if (one.kind != "far") == is_own and one.over_hops == over_hops]
            count, share = sum(len(one.scores) for one in asked), HIT_SHARES.get((sample.store, is_own), 0.0)
            for one in asked:
                for values, is_relevant in zip(_hit_values(one), one.relevant, strict=True):
                    rows.append((list(values), float(is_relevant), share * HIT_WEIGHT / count))
                    factors.append(fitted.answered(one))
    return _maximise(rows, factors)


def _hit_values(one: Question) -> Array:
    """The values of the hits of a question: a constant, the logit of the score, and over several hops closeness."""
    logits = [relevance.score_logit(min(1.0, max(0.0, score))) for score in one.scores]
    rows = [[1.0, logit, one.closeness] if one.over_hops else [1.0, logit] for logit in logits]
    return np.array(rows)


def _maximise(rows: Sequence[Evidence], factors: Sequence[float]) -> Array:
    """The coefficients with the largest likelihood of `factor · σ(values · coefficients)`, by Fisher scoring."""
    values, occurred, weights = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    factor, found = np.array(factors), np.zeros(values.shape[1])
    penalty = RIDGE * np.diag([0.0, *[1.0] * (len(found) - 1)])
    for _ in range(STEPS):
        share = _logistic(values @ found)
        chance = np.clip(factor * share, 1e-6, 1 - 1e-6)
        slope = factor * share * (1 - share)
        gradient = values.T @ (weights * (occurred - chance) / (chance * (1 - chance)) * slope) - penalty @ found
        curvature = (values * (weights * slope**2 / (chance * (1 - chance)))[:, None]).T @ values + penalty
        step = np.clip(np.linalg.solve(curvature, gradient), -1.0, 1.0)
        found = found + step
        if np.abs(step).max() < TOLERANCE:
            break
    return found


def _logistic(logits: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))))


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured on a set with a model and a mode, of which neither fit nor choice knew anything."""

    model: str
    name: str
    mode: str
    figures: dict[str, Calibration]


def leave_out(samples: Sequence[Sample], *, models: bool) -> Iterator[Row]:
    """Yields the figures of each set with the coefficients that were fitted without it, and without its model."""
    for model, name in dict.fromkeys((sample.model, sample.name) for sample in samples):
        fitted = fit([one for one in samples if one.name != name and not (models and one.model == model)])
        for mode in MODES:
            of_set = [one for one in samples if (one.model, one.name, one.mode) == (model, name, mode)]
            yield Row(model, name, mode, _figures(fitted, of_set))


def _figures(fitted: Fit, of_set: Sequence[Sample]) -> dict[str, Calibration]:
    asked = {store: [q for one in of_set if one.store == store for q in one.questions] for store in ("whole", "half")}
    measures: dict[str, tuple[str, Callable[[Question], list[Prediction]]]] = {
        "answerable far": ("whole", lambda one: [(fitted.answerable(one), one.kind == "own")]),
        "answerable near": ("half", lambda one: [(fitted.answerable(one), one.kind == "own")]),
        "relevance": ("whole", lambda one: _hits(fitted, one) if one.kind == "own" else []),
        "relevance near": ("half", lambda one: _hits(fitted, one)),
    }
    pairs = {name: [pair for one in asked[store] for pair in of(one)] for name, (store, of) in measures.items()}
    return {name: metrics.measure_calibration(found) for name, found in pairs.items() if found}


def _hits(fitted: Fit, one: Question) -> list[Prediction]:
    return list(zip(fitted.relevance(one), one.relevant, strict=True))
