"""Computes the relevance of a hit: the probability, 0 to 1, that it is relevant to the query.

A logistic model over two values on scales that do not depend on the corpus: the cosine similarity of hit and query, and
the coverage, the hit's BM25 score as a share of the query's upper bound `Σ idf · (k1 + 1)`. Cosines of different models
are not comparable, so there are coefficients for the models in COSINE only. They were fitted on five development sets
and on questions asked of the wrong set (docs/relevance.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.shapes import Candidate, Confidence, Term, bm25


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Of the logistic model."""

    intercept: float
    cosine: float = 0.0
    coverage: float = 0.0


COVERAGE = Coefficients(-4.1, coverage=9.9)
"""Without the vector leg."""
COSINE: Mapping[str, Coefficients] = MappingProxyType({"all-MiniLM-L6-v2": Coefficients(-6.0, cosine=9.5)})
"""Without the text leg, by embedding model."""
BOTH: Mapping[str, Coefficients] = MappingProxyType({"all-MiniLM-L6-v2": Coefficients(-6.2, 7.4, 5.2)})
"""With both legs, by embedding model."""
LITERAL = 3.0
"""Added if a hit contains the query's phrases or an identifier of it literally. Chosen, not fitted: the development
sets have no such queries."""
LINKED = 4.0
"""Times the score of a hit's link and the aboutness of its entity; fitted on one half of the generated company."""
HOPS = (-6.0, 2.0, 0.35)
"""Of a search over several hops: intercept, and coefficients of a hit's sum of signals and of the logit of the best
relevance without it; fitted on three sets of questions over several documents."""
ANSWERABLE = (1.1, 1.15)
"""Intercept and coefficient of the logit of the best relevance, for the probability that any hit answers."""
LEVELS: tuple[tuple[float, Confidence], ...] = (
    (0.7, "very_high"),
    (0.4, "high"),
    (0.2, "medium_high"),
    (0.08, "medium"),
    (0.0, "low"),
)
"""Least relevance of each level of confidence."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How the hits of one query are assessed: the coefficients, and the upper bound of the query's BM25 score."""

    coefficients: Coefficients
    upper_bound: float

    def of(self, candidate: Candidate, *, literal: bool, linked: float = 0.0) -> float:
        """Returns the relevance of a hit.

        `literal`: it contains a phrase or identifier of the query. `linked` (0 to 1): the score of its document's link
        times the aboutness of the entity.
        """
        chosen = self.coefficients
        logit = chosen.intercept + LITERAL * literal + LINKED * linked
        logit += chosen.cosine * (candidate.cosine or 0.0)
        logit += chosen.coverage * min(1.0, (candidate.text_score or 0.0) / self.upper_bound)
        return _logistic(logit)


def scale(terms: Iterable[Term], *, model: str, has_vector: bool) -> Scale | None:
    """Returns the scale for a query with these terms of the text leg, which are none if it did not run.

    None if there are no coefficients for the embedding model.
    """
    if model not in BOTH:
        return None
    terms = list(terms)
    chosen = COVERAGE if not has_vector else BOTH[model] if terms else COSINE[model]
    return Scale(chosen, upper_bound(terms))


def upper_bound(terms: Iterable[Term]) -> float:
    """Returns the BM25 score that no chunk exceeds for a query with these terms; 1 without terms.

    A correction counts less than the word that it corrects, which no chunk contains. The words that begin with a prefix
    count as one.
    """
    terms = list(terms)
    words = sum(term.idf * term.times for term in terms if not (term.is_expansion or term.is_correction))
    prefixed = max((term.idf for term in terms if term.is_expansion and term.df), default=0.0)
    return (words + prefixed) * float(bm25.K1 + 1) or 1.0


def is_calibrated(model: str) -> bool:
    """Returns whether there are coefficients for the embedding model."""
    return model in BOTH


def over_hops(signal_sum: float, best: float) -> float:
    """Returns the relevance of a hit of a search over several hops.

    `best` is the largest relevance of its hits as if each were found by the question alone.
    """
    intercept, summed, alone = HOPS
    return _logistic(intercept + summed * signal_sum + alone * _logit(best))


def answerable(relevances: Iterable[float]) -> float:
    """Returns the probability that any hit answers the query, 0 without hits."""
    best = max(relevances, default=0.0)
    intercept, coefficient = ANSWERABLE
    return _logistic(intercept + coefficient * _logit(best)) if best else 0.0


def confidence(relevance: float) -> Confidence:
    """Returns the level of a relevance."""
    return next(level for least, level in LEVELS if relevance >= least)


def _logit(probability: float) -> float:
    bounded = min(max(probability, 1e-9), 1 - 1e-9)
    return math.log(bounded / (1 - bounded))


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
