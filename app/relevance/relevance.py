"""Computes the relevance of hits, and `answerable`, from one assessment of a query's candidates.

The quality of the best candidates gives the probability that the query is answered at all. The score of a hit compares
it with the other candidates, and gives the probability that it is the answer of an answered query. Relevance is the
product of both; it falls in the order of the hits. All models share the coefficients, because cosines are rescaled
(`cosine_scales`). The coefficients were fitted to collections with and without the answers (docs/evaluation.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from app.database.calibration_types import LogitScale, RelevanceCalibration
from app.enums import Confidence, FusionUsed
from app.query import scoring_constants
from app.query.search_types import AddedTerm, Term
from app.relevance import stem_matching
from app.text.names import names
from app.text.words import characters


@dataclass(frozen=True, slots=True)
class OfQuery:
    """The coefficients of the best cosine and of closeness in the logit of the probability that a query is answered."""

    intercept: float
    cosine: float = 0.0
    closeness: float = 0.0


@dataclass(frozen=True, slots=True)
class OfHit:
    """The coefficients of the score's logit and closeness in the logit that a hit of an answered query is relevant."""

    intercept: float
    score: float
    closeness: float = 0.0


BOTH_LEGS = OfQuery(-4.9, 7.1, 3.2)
VECTOR_LEG = OfQuery(-4.9, 9.4)
TEXT_LEG = OfQuery(-1.9, closeness=5.0)
OTHER_LANGUAGE = OfQuery(-3.7, 14.2)
"""For a query in another language than the documents: words are no evidence, and cosines are smaller."""
UNREAD_LANGUAGE = OfQuery(-0.85, 3.0)
"""The same, if the model does not read both languages: a cosine is weak evidence."""
HIT, HIT_OF_HOPS = OfHit(-1.0, 1.5), OfHit(5.4, 3.8, -2.5)
"""In one search, and over several hops. Over hops, the score is the sum of signals as a share of the largest sum, and
closeness counts against a hit: a passage with most of the query leaves less to the others, and a topic that no sentence
names has many answers."""

HOPS_INTERCEPT, FIRST_HOP, HOPS_SCORE = 0.5, 0.9, 0.9
"""The coefficients of the logit that hops answer a query: of the logits of hop 1 and of the best score. No single
passage resembles a question over several hops, so the passages that links bring together count too."""
MARGIN = 0.02
"""Scores are kept this far from 0 and 1 before their logit is taken."""
LITERAL = 2.0
"""Added to the logit of a query if hits contain it literally. Chosen, not fitted: the sets have only questions."""
UNKNOWN_NAME = 0.2
"""The largest probability of an answer to a query with a name, or many words, that no document contains."""
UNCALIBRATED, _IDENTITY = RelevanceCalibration(), LogitScale()
LEVELS: tuple[tuple[float, Confidence], ...] = (
    (0.7, "very_high"),
    (0.4, "high"),
    (0.2, "medium_high"),
    (0.08, "medium"),
    (0.0, "low"),
)
"""The least relevance of each level of confidence, highest first."""
UNKNOWN: Confidence = "medium"
"""The confidence of hits without a relevance, such as the neighbours of a vector without a text."""
_SENTENCE_END = re.compile(rf"(?<=[.!?])\s+|\n+|(?<=[{characters.FULL_STOPS}])")
_MARK, _SPACED_MARK = "\0", " \0 "
_ASCII_END, _ASCII_BREAK = re.compile(r"[.!?]\s+|\n+"), re.compile(rf"[^a-z0-9{_MARK}]+")
"""The end of a sentence in ASCII, and what separates its words."""
_DIGIT = re.compile(r"\d")
STEMS_WITHIN_WORDS = frozenset({"arabic", "indonesian", "irish"})
"""Text-search configurations whose stems are found anywhere in a word: "مدرس" is the stem of "المدرسة"."""
SERBIAN = "serbian"
"""The text-search configuration that writes Cyrillic words in Latin letters."""
_IN_LATIN = str.maketrans(
    dict(zip("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš", strict=True))
    | {"љ": "lj", "њ": "nj", "џ": "dž"}
)
_UNSPACED = re.compile(rf"[{characters.UNSPACED}]")


@dataclass(frozen=True, slots=True)
class MeanEffect:
    """How entities change the mean candidate: what their links add to its score, and the factor of its boost.

    Only a larger effect distinguishes hits. If every document is linked to the entity, links are no evidence.
    """

    added: float = 0.0
    factor: float = 1.0

    def remove(self, score: float) -> float:
        """Returns the score without the effect, 0 to 1; the score itself if it consists of the effect alone."""
        own = (1 - self.added) * self.factor
        return min(1.0, max(0.0, (score - self.added) / own)) if own else score


NO_EFFECT = MeanEffect()


@dataclass(frozen=True)
class Assessment:
    """The evidence from a query's candidates. It gives the probability of an answer and the relevance of a hit.

    Attributes:
        fusion: The fusion whose scores order the hits.
        cosine: The best cosine similarity, rescaled (see `cosine_scales.above`); None if the vector leg hardly counts.
        closeness: The largest share of the query that one sentence of the best candidate has with its title and
            headings, 0 to 1; None without the text leg.
        share: The best sum of signals over several hops as a share of the largest sum; None for one search.
        is_foreign: Whether the query is in another language than the documents. Words are then no evidence.
        is_read: Whether the model reads the language of the documents, and further ones if the query is in another.
        is_literal: Whether hits contain the phrases of the query, or its only word or identifier.
        names_unknown: Whether the query has a name or identifier, or many words, that no document contains.
        entities: The mean effect of entities on the scores.
        calibration: The calibration of the user.
    """

    fusion: FusionUsed
    cosine: float | None
    closeness: float | None
    share: float | None = None
    is_foreign: bool = False
    is_read: bool = True
    is_literal: bool = False
    names_unknown: bool = False
    entities: MeanEffect = NO_EFFECT
    calibration: RelevanceCalibration = UNCALIBRATED

    def relevance(self, score: float) -> float:
        """Returns the relevance of a hit by the score that orders it, 0 to 1. A larger score counts as 1."""
        scaled = min(1.0, max(0.0, score)) ** scoring_constants.EXPONENTS[self.fusion]
        return self._relevance(HIT, self.entities.remove(scaled), self.calibration.relevance)

    def judge(self, scores: Sequence[float]) -> list[tuple[float, Confidence]]:
        """Returns the relevance and the confidence of hits by the scores that order them."""
        return [(one, confidence(one)) for one in map(self.relevance, scores)]

    def relevance_over_hops(self, share: float) -> float:
        """Returns the relevance of a hit by its sum of signals as a share of the largest sum, 0 to 1."""
        return self._relevance(HIT_OF_HOPS, min(1.0, max(0.0, share)), self.calibration.hops)

    def answerable(self, relevances: Sequence[float]) -> float:
        """Returns the probability that any of the hits with these relevances answers the query.

        It is at least the best relevance, and at most the probability for independent hits: `1 − Π(1 − relevance)`.
        """
        best, none = max(relevances, default=0.0), math.prod(1 - one for one in relevances)
        return max(best, min(calibrate(self.calibration.answerable, self.answered), 1 - none, self._most))

    @cached_property
    def answered(self) -> float:
        """The probability that the documents answer the query, before calibration."""
        first = self._answered_by_first
        if self.share is None:
            return first
        evidence = FIRST_HOP * logit(first) + HOPS_SCORE * score_logit(self.share)
        return min(logistic(HOPS_INTERCEPT + evidence), self._most)

    @cached_property
    def _answered_by_first(self) -> float:
        """The same probability from the candidates of one search, or of hop 1."""
        if self.cosine is None:
            chosen = TEXT_LEG
        elif self.is_foreign:
            chosen = OTHER_LANGUAGE if self.is_read else UNREAD_LANGUAGE
        else:
            chosen = VECTOR_LEG if self.closeness is None else BOTH_LEGS
        evidence = chosen.intercept + LITERAL * self.is_literal
        evidence += chosen.cosine * (self.cosine or 0.0) + chosen.closeness * (self.closeness or 0.0)
        return min(logistic(evidence), self._most)

    @cached_property
    def _most(self) -> float:
        return UNKNOWN_NAME if self.names_unknown else 1.0

    def _relevance(self, chosen: OfHit, score: float, calibration: LogitScale) -> float:
        evidence = chosen.intercept + chosen.score * score_logit(score) + chosen.closeness * (self.closeness or 0.0)
        return min(calibrate(calibration, self._answered_by_first * logistic(evidence)), self._most)


def calibrate(scale: LogitScale, probability: float) -> float:
    """Returns the calibrated probability."""
    return probability if scale == _IDENTITY else logistic(scale.intercept + scale.slope * logit(probability))


def uncalibrate(scale: LogitScale, calibrated: float) -> float:
    """Returns the probability before the calibration."""
    return calibrated if scale == _IDENTITY else logistic((logit(calibrated) - scale.intercept) / scale.slope)


def logit(probability: float) -> float:
    """Returns the logarithm of the odds. The probability is first kept away from 0 and 1."""
    bounded = min(max(probability, 1e-9), 1 - 1e-9)
    return math.log(bounded / (1 - bounded))


def logistic(value: float) -> float:
    """Returns the probability with this logit."""
    return 1 / (1 + math.exp(-max(value, -700.0)))


def confidence(relevance: float | None) -> Confidence:
    """Returns the level of confidence of a relevance."""
    return UNKNOWN if relevance is None else next(level for least, level in LEVELS if relevance >= least)


def is_at_least(confidence: Confidence, minimum: Confidence) -> bool:
    """Returns whether a confidence is at least `minimum`."""
    order = [level for _, level in LEVELS]
    return order.index(confidence) <= order.index(minimum)


def score_logit(score: float) -> float:
    """Returns the logit of a score from 0 to 1, with a margin at both ends."""
    return math.log((score + MARGIN) / (1 + MARGIN - score))


def correct(terms: Sequence[Term], added: Iterable[AddedTerm]) -> Sequence[Term]:
    """Replaces misspelt words by their corrections, because no text contains the misspelt words.

    Of several corrections of a word, the one with the largest idf counts as a word of the query.
    """
    found = {term.lexeme: term for term in terms if term.is_added and term.df}
    corrected: dict[str, Term] = {}
    for one in added:
        if one.corrects and (known := [found[lexeme] for lexeme in one.lexemes if lexeme in found]):
            best = max(known, key=lambda term: term.idf)
            corrected[best.lexeme] = replace(best, is_added=False)
    misspelt = {lexeme for one in added for lexeme in one.corrects if corrected.keys() & set(one.lexemes)}
    return [corrected.get(term.lexeme, term) for term in terms if term.lexeme not in misspelt] if corrected else terms


def closeness(content: str, terms: Sequence[Term], *, above: str = "", config: str = "") -> float | None:
    """Returns the largest share of the query's idf, 0 to 1, that one sentence covers with the headings `above` it.

    See `shares`. None without words of a query.
    """
    found = shares([(content, above, config)], terms)
    return found[0].sentence if found else None


class Shares(NamedTuple):
    """The shares of a query's idf, 0 to 1, that the closest sentence of a passage and its headings cover."""

    sentence: float
    headings: float


def shares(passages: Iterable[tuple[str, str, str]], terms: Sequence[Term]) -> list[Shares]:
    """Returns how much of the query each passage covers. Empty without words of a query.

    A passage is its content, the title and headings above it, which count for every sentence, and its text-search
    configuration, which may take off beginnings of words. A word is found by its beginning, because lexemes are stems.
    Words that no document contains count fully, added terms less than the query's own. If the query has a number or a
    code that is in no document, a sentence covers nothing: it may be about another one.
    """
    own = own_words(terms)
    total = _total_idf(own, terms)
    if not total:
        return []
    is_unknown = any(not term.df and _DIGIT.search(term.lexeme) for term in own)
    counted = [*own, *(term for term in terms if term.is_added and term.df)]
    sought = [([_beginning(part) for part in term.parts], term.idf * term.times) for term in counted]
    prefixes = [(_beginning(term.lexeme), term.idf) for term in terms if term.is_expansion and term.df]
    found = []
    for content, above, config in passages:
        if config == SERBIAN:
            content, above = (text.casefold().translate(_IN_LATIN) for text in (content, above))
        is_within = config in STEMS_WITHIN_WORDS
        words = [([part.lstrip() for part in parts], idf) for parts, idf in sought] if is_within else sought
        sentence, headings = _cover(content, above, words, prefixes)
        found.append(Shares(0.0 if is_unknown else min(1.0, sentence / total), min(1.0, headings / total)))
    return found


def _cover(
    content: str, above: str, sought: Sequence[tuple[list[str], float]], prefixes: Sequence[tuple[str, float]]
) -> tuple[float, float]:
    """The largest sum of idf that a sentence covers with the headings, and the sum that the headings cover."""
    headings = names.space(names.words(above))
    sentences = _sentences(content)
    whole = "".join(sentences)  # the words that it lacks are looked for once, however many sentences there are
    covered, missing = 0.0, []
    for parts, idf in sought:
        left = [part for part in parts if part not in headings]
        if not left:
            covered += idf
        elif all([part in whole for part in left]):
            missing.append((left, idf))
    best = 0.0
    for sentence in sentences if missing or prefixes else sentences[:1]:
        found = sum([idf for parts, idf in missing if all([part in sentence for part in parts])])
        expanded = [idf for prefix, idf in prefixes if prefix in sentence or prefix in headings]
        best = max(best, found + max(expanded, default=0.0))
    return covered + best if sentences else 0.0, covered


def _sentences(content: str) -> list[str]:
    """The words of each sentence, with a space around each word."""
    if content.isascii():  # the same, sooner
        marked = _ASCII_BREAK.sub(" ", f" {_ASCII_END.sub(_SPACED_MARK, content.lower())} ")
        return [sentence for sentence in marked.split(_MARK) if len(sentence) > 1]
    return [names.space(words) for one in _SENTENCE_END.split(content) if (words := names.words(one))]


def contains(text: str, term: Term) -> bool:
    """Returns whether a text, in the form of `names.space`, contains a term. A word is found by its beginning."""
    return all(part in text for part in map(_beginning, term.parts))


@lru_cache(maxsize=4_096)
def _beginning(lexeme: str) -> str:
    """The text that finds a word: a space and its beginning. The last letter of a longer stem may differ (`deliveri`).

    A word with digits must be whole; a pair of characters is found anywhere. The words of a compound (`append-on`) are
    separate, as in the text.
    """
    if _UNSPACED.match(lexeme):
        return stem_matching.fold(lexeme)
    folded = " ".join(names.words(lexeme))
    if not folded.replace(" ", "").isalpha():
        return f" {folded} "
    return " " + (folded if len(folded) <= stem_matching.SHORTEST else folded[:-1])


def _total_idf(own: Iterable[Term], terms: Iterable[Term]) -> float:
    """The sum of the idf of the query's own words, and of its rarest expansion of a prefix.

    A correction counts less than the corrected word.
    """
    words = sum(term.idf * term.times for term in own)
    return words + max((term.idf for term in terms if term.is_expansion and term.df), default=0.0)


def own_words(terms: Iterable[Term]) -> list[Term]:
    """Returns the terms of the query itself: of each word the form that most chunks contain.

    With documents in several languages a word has a form in each, but a chunk has one language.
    """
    own = [term for term in terms if not (term.is_expansion or term.is_added)]
    forms: dict[int, str] = {}
    for term in sorted(own, key=lambda one: one.df):
        forms.update(dict.fromkeys(term.places, term.lexeme))
    counted = set(forms.values())
    return [term for term in own if not term.places or term.lexeme in counted]
