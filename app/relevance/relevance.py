"""Computes the relevance of a hit, the probability, 0 to 1, that it is relevant to the query, and `answerable`.

`answerable`, the probability that any hit answers the query, is a logistic function of two values of the query that say
how good its candidates are: the best cosine similarity, and the best coverage, a BM25 score as a share of the query's
upper bound `Σ idf · (k1 + 1)`. Relevance is one of the logit of the score by which the hit was ordered, which says how
it compares with the other candidates, and of the logarithm of `answerable`: it lowers the relevance of the hits of a
query without an answer, and has no effect where an answer is certain. Relevance therefore falls in the order of the
hits. Cosines of different models are not comparable, so there are coefficients for the models in MODELS only. They were
fitted on the questions of nine sets, and on questions that these do not answer (docs/relevance.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.database.calibrations import RelevanceCalibration
from app.kinds import Confidence, FusionUsed
from app.query import bm25, fused_scores
from app.query.types import Term
from app.relevance import logit_scales
from app.relevance.logit_scales import Prior


@dataclass(frozen=True, slots=True)
class OfQuery:
    """The coefficients of `answerable`: of the best cosine and the best coverage of a query's candidates."""

    intercept: float
    cosine: float = 0.0
    coverage: float = 0.0


@dataclass(frozen=True, slots=True)
class OfHit:
    """The coefficients of relevance: of the logit of a hit's score, and of the logarithm of `answerable`."""

    intercept: float
    score: float
    log_answerable: float


@dataclass(frozen=True, slots=True)
class LegCoefficients:
    """The coefficients for the legs that ran."""

    query: OfQuery
    hit: OfHit


@dataclass(frozen=True, slots=True)
class ModelCoefficients:
    """The coefficients for an embedding model: with both legs, without the text leg, and over several hops.

    Over several hops the score is the sum of signals as a share of the largest one.
    """

    both: LegCoefficients
    without_text: LegCoefficients
    hops: OfHit


MODELS: Mapping[str, ModelCoefficients] = MappingProxyType(
    {
        "all-MiniLM-L6-v2": ModelCoefficients(
            both=LegCoefficients(OfQuery(-15.4, 25.6, 17.3), OfHit(-1.3, 1.0, 1.1)),
            without_text=LegCoefficients(OfQuery(-12.1, 26.0), OfHit(-1.2, 0.56, 1.6)),
            hops=OfHit(1.85, 2.16, 0.82),
        )
    }
)
"""By embedding model."""
WITHOUT_VECTOR = LegCoefficients(OfQuery(-4.6, coverage=24.0), OfHit(-1.5, 0.58, 0.71))
"""Without the vector leg."""
MARGIN = 0.02
"""By which scores are kept off 0 and 1 before their logit is taken."""
PHRASE = 2.0
"""Added if the query has phrases, which every hit contains. Chosen, not fitted: the sets have no such queries."""
LEVELS: tuple[tuple[float, Confidence], ...] = (
    (0.7, "very_high"),
    (0.4, "high"),
    (0.2, "medium_high"),
    (0.08, "medium"),
    (0.0, "low"),
)
"""Least relevance of each level of confidence."""
PRIOR, ANSWERABLE_PRIOR = Prior(1.5, 0.5), Prior(1.5, 0.3)
"""How much the calibrations of collections differ. Those of the nine sets have slopes whose standard deviation is .4 in
one search and .6 over several hops (docs/decisions/0038-calibration-over-hops.md)."""
CORRELATION = 0.1
"""Of the errors of two hits of one question."""
UNCALIBRATED = RelevanceCalibration()


@dataclass(frozen=True, slots=True)
class MeanEffect:
    """What entities do to the mean candidate: what their links add to its score, and the factor of its boost.

    Only what goes beyond it tells hits apart: where every document is linked to the entity, its links say nothing.
    """

    added: float = 0.0
    factor: float = 1.0

    def removed(self, score: float) -> float:
        """Returns the score without the effect, 0 to 1."""
        return min(1.0, max(0.0, (score - self.added) / ((1 - self.added) * self.factor)))


NO_EFFECT = MeanEffect()


@dataclass(frozen=True, slots=True)
class Assessed:
    """A search whose hits are assessed: its fusion, and the best cosine and coverage of its candidates.

    `cosine` and `coverage` are None for a leg that did not run; `is_phrase`: every hit contains a phrase of the query.
    `entities` is the mean effect of entities on the scores.
    """

    fusion: FusionUsed
    cosine: float | None
    coverage: float | None
    is_phrase: bool = False
    entities: MeanEffect = NO_EFFECT


@dataclass(frozen=True, slots=True)
class Scale:
    """How the hits of one query are assessed: coefficients, the search, and the user's calibration.

    `uncalibrated` is `answerable` before it is calibrated.
    """

    hit: OfHit
    hops: OfHit
    search: Assessed
    uncalibrated: float
    calibration: RelevanceCalibration = UNCALIBRATED

    def of(self, score: float) -> float:
        """Returns the relevance of a hit by the score that orders it, 0 to 1; larger ones count 1."""
        scaled = min(1.0, max(0.0, score)) ** fused_scores.EXPONENTS[self.search.fusion]
        return logit_scales.apply(
            self.calibration.relevance, self._relevance(self.hit, self.search.entities.removed(scaled))
        )

    def over_hops(self, share: float) -> float:
        """Returns the relevance of a hit by its sum of signals as a share of the largest one, 0 to 1."""
        return logit_scales.apply(self.calibration.hops, self._relevance(self.hops, min(1.0, max(0.0, share))))

    @property
    def answerable(self) -> float:
        """The probability that any hit answers the query, if there are hits."""
        return logit_scales.apply(self.calibration.answerable, self.uncalibrated)

    def _relevance(self, chosen: OfHit, score: float) -> float:
        logit = chosen.intercept + chosen.score * score_logit(score) + PHRASE * self.search.is_phrase
        logit += chosen.log_answerable * math.log(self.uncalibrated)
        return logit_scales.logistic(logit)


def scale(search: Assessed, *, model: str, calibration: RelevanceCalibration | None = None) -> Scale | None:
    """Returns the scale for the hits of a search; None if there are no coefficients for the embedding model."""
    known = MODELS.get(model)
    if known is None:
        return None
    legs = known.both
    if search.cosine is None:
        legs = WITHOUT_VECTOR
    elif search.coverage is None:
        legs = known.without_text
    return Scale(legs.hit, known.hops, search, _answerable(legs.query, search), calibration or UNCALIBRATED)


def _answerable(chosen: OfQuery, search: Assessed) -> float:
    logit = chosen.intercept + PHRASE * search.is_phrase
    logit += chosen.cosine * (search.cosine or 0.0) + chosen.coverage * (search.coverage or 0.0)
    return logit_scales.logistic(logit)


def score_logit(score: float) -> float:
    """Returns the logit of a score from 0 to 1, with a margin at both ends."""
    return math.log((score + MARGIN) / (1 + MARGIN - score))


def coverage(text_score: float | None, terms: Iterable[Term]) -> float | None:
    """Returns a BM25 score as a share of the upper bound of the query with these terms; None without terms.

    A correction counts less than the word that it corrects, which no chunk contains. The words that begin with a prefix
    count as one.
    """
    terms = list(terms)
    words = sum(term.idf * term.times for term in terms if not (term.is_expansion or term.is_added))
    prefixed = max((term.idf for term in terms if term.is_expansion and term.df), default=0.0)
    bound = (words + prefixed) * float(bm25.K1 + 1)
    return min(1.0, (text_score or 0.0) / bound) if bound else None


def is_calibrated(model: str) -> bool:
    """Returns whether there are coefficients for the embedding model."""
    return model in MODELS


def weight(hits: int) -> float:
    """Returns the weight of each of a question's judged hits in a fit: together they count as fewer (Kish 1965)."""
    return 1 / (1 + CORRELATION * (hits - 1))


def confidence(relevance: float) -> Confidence:
    """Returns the level of a relevance."""
    return next(level for least, level in LEVELS if relevance >= least)
