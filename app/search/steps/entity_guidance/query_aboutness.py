"""Computes the aboutness of an entity: the probability that a query is about it and does not merely contain its name.

It is a logistic model of evidence from the query, the index and the unguided result. The coefficients are fitted to
development sets and rounded (docs/decisions/0007).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from uuid import UUID

from app.query.search_types import EntityMatch, HybridResult, Term, absent_terms
from app.search.steps.entity_guidance import entity_match_scores
from app.search.steps.entity_guidance.store import EntityLinks
from app.text.names import name_uses_in_queries, names
from app.text.names.name_uses_in_queries import NameCase, NameForm, NameUse

BEST = 5
"""Number of the best candidates in which the case of a name is counted."""
FEW_CANDIDATES = 20
"""Linked candidates count as a share of at least this number, because the share of few candidates is weak evidence."""
TITLE, METADATA = 4.0, 2.0
"""The strength of a link through the title, and the least strength of a link through metadata."""
SMALL_CORPUS = 100
"""Linked documents count as a share of at least this number of chunks, for the same reason."""


FORM: Mapping[NameForm, float] = MappingProxyType({"full": 2.5, "word": 1.0, "part": -1.0, "role": 1.5, "topic": 1.5})
"""By the form of the query's reference to the entity; `topic` is a reference by facts or description."""
CASE: Mapping[NameCase, float] = MappingProxyType({"capital": 1.0, "unknown": 0.0, "uniform": -4.0, "small": -4.0})
AUTOMATIC = -6.0
"""For an entity that was made from a title or a tag."""
FULL_FROM_METADATA = -1.0
"""For a name of several words of an entity that was made from an author, team or the like."""
INCIDENTAL = -8.0
"""For a name inside an identifier, next to another capitalised name, or of somebody addressed."""
PLACE = -2.0
"""For a person's name after a preposition of place."""
LEAD, MAX_LEAD = 3.0, 0.25
"""Times the lead of the best linked candidate's score over the best other score, at most MAX_LEAD."""
METADATA_LEAD, MIN_METADATA_LEAD = 32.0, -0.2
"""Times how far `metadata_lead` lies below MIN_METADATA_LEAD, times the share of the query's idf outside the name. If
other documents answer the rest of the query, the name probably belongs to somebody or something else."""
SHARE_OF_QUERY, USUAL_SHARE, MAX_SHARE = 12.0, 0.25, 0.5
"""Times the name's share of the query's idf, at most MAX_SHARE, minus USUAL_SHARE."""
SHARE_OF_CORPUS = -8.0
"""Times the number of linked documents as a share of the corpus's chunks."""
SHARE_OF_CANDIDATES, USUAL_SHARE_OF_CANDIDATES = -12.0, 0.6
"""Times the linked share of the candidates above USUAL_SHARE_OF_CANDIDATES: an entity of nearly every document does not
distinguish any of them."""
WEAK_MEANING = -3.0
"""Times the difference between the largest possible score of a match by meaning and this match's score."""
WRITTEN_SMALL, WORD_WRITTEN_SMALL = -4.0, -8.0
"""For a name of several words and for other names: times the share of lower-case occurrences in the best candidates."""


def weigh(
    matches: Sequence[EntityMatch],
    result: HybridResult,
    links: EntityLinks,
    *,
    exponent: float = 1.0,
    forced: bool,
) -> list[EntityMatch]:
    """Adds the aboutness to the matches. It is 1 if guidance is forced.

    `result` is the result of the unguided search. Its scores are compared as powers with this exponent.
    """
    if forced:
        return [replace(match, aboutness=1.0) for match in matches]
    # Matches of the same words are namesakes, or one entity in several spellings.
    named: dict[tuple[str, ...], set[UUID]] = {}
    for match in matches:
        named.setdefault(match.use.words, set()).update(links.strengths[match.entity_id])
    return _least_of_name(
        [replace(match, aboutness=probability(_evidence(match, result, links, named, exponent))) for match in matches]
    )


def agreement(matches: Sequence[EntityMatch]) -> float:
    """Returns the mean aboutness of the names in the query as a share of the largest; 1 for at most one name.

    If the query is not about one of its names, it is less certainly about the others. Words that are certainly not used
    as a name do not count.
    """
    by_name: dict[tuple[str, ...], float] = {}
    for match in matches:
        if _is_named(match) and match.use.case != "small" and not match.use.is_incidental:
            by_name[match.use.words] = max(by_name.get(match.use.words, 0.0), match.aboutness or 0.0)
    largest = max(by_name.values(), default=0.0)
    return sum(by_name.values()) / len(by_name) / largest if largest else 1.0


def _least_of_name(matches: Sequence[EntityMatch]) -> list[EntityMatch]:
    """Gives matches of the same words the least aboutness of them: the query does not say which of them it means."""
    least: dict[tuple[str, ...], float] = {}
    for match in filter(_is_named, matches):
        least[match.use.words] = min(least.get(match.use.words, 1.0), match.aboutness or 0.0)
    return [replace(match, aboutness=least[match.use.words]) if _is_named(match) else match for match in matches]


def _is_named(match: EntityMatch) -> bool:
    """Whether the query refers by name to an entity that was not made automatically."""
    return bool(match.use.words) and not entity_match_scores.is_automatic(match.origin, match.type)


def _evidence(
    match: EntityMatch,
    result: HybridResult,
    links: EntityLinks,
    named: Mapping[tuple[str, ...], set[UUID]],
    exponent: float,
) -> Evidence:
    linked = links.strengths[match.entity_id]
    namesakes: Container[UUID] = named[match.use.words] if match.use.words else linked
    namesakes_found = sum(one.document_id in namesakes for one in result.candidates)
    automatic = entity_match_scores.is_automatic(match.origin, match.type)
    return Evidence(
        use=match.use,
        automatic=automatic,
        lead=_lead(result, {one.document_id for one in result.candidates if one.document_id in linked}, exponent),
        share_of_query=_share_of_query(match.use.words, result.terms),
        share_of_corpus=min(1.0, links.counts[match.entity_id] / max(result.corpus_chunks, SMALL_CORPUS)),
        share_of_candidates=namesakes_found / max(len(result.candidates), FEW_CANDIDATES),
        written_small=_written_small(match.use, result),
        weak_meaning=entity_match_scores.MAX_DESCRIPTION - match.score if match.matched_by == "description" else 0.0,
        metadata_lead=_lead(result, _named_by_metadata(match, result, linked), exponent)
        if match.origin == "metadata"
        else 0.0,
        from_metadata=match.origin == "metadata" and not automatic,
    )


def _lead(result: HybridResult, documents: Container[UUID], exponent: float) -> float:
    """The score of the best candidate of these documents minus the score of the best other candidate."""
    inside = max((one.score for one in result.candidates if one.document_id in documents), default=0.0)
    outside = max((one.score for one in result.candidates if one.document_id not in documents), default=0.0)
    return float(inside**exponent - outside**exponent)


def _named_by_metadata(match: EntityMatch, result: HybridResult, linked: Mapping[UUID, float]) -> set[UUID]:
    """The documents among the candidates that name this entity in their metadata, if it was made from metadata."""
    strengths = {one.document_id: (linked.get(one.document_id, 0.0), one.title) for one in result.candidates}
    return {
        document_id
        for document_id, (strength, title) in strengths.items()
        if strength >= METADATA and (strength < TITLE or strength - TITLE >= METADATA or not _is_title(title, match))
    }


def _is_title(title: str, match: EntityMatch) -> bool:
    name = names.title_name(title)
    return name is not None and name.entity_id == match.entity_id


def _written_small(use: NameUse, result: HybridResult) -> float:
    if use.case == "capital":
        return 0.0
    return name_uses_in_queries.small_share((one.content for one in result.candidates[:BEST]), use)


def _share_of_query(words: Sequence[str], terms: Sequence[Term]) -> float:
    """The share of the query's idf that these words have. For a reference without a name, USUAL_SHARE.

    Other words that no chunk contains do not count, and neither do alternatives to words of the query.
    """
    if not words:
        return USUAL_SHARE
    named = sum(term.idf * term.times for term in terms if _is_of(words, term))
    known = [term for term in terms if term.df > 0 and not term.is_alternative]
    others = sum(term.idf * term.times for term in known if not _is_of(words, term))
    return named / (named + others) if named else 0.0


def absent_share(matches: Iterable[EntityMatch], terms: Sequence[Term]) -> float:
    """Returns the share of the query's idf that words of these entities' names have that no document contains."""
    words = [word for match in matches if match.matched_by == "name" for word in match.use.words]
    own = [term for term in terms if not term.is_alternative]
    absent = sum(term.idf * term.times for term in absent_terms(own) if _is_of(words, term))
    return absent / sum(term.idf * term.times for term in own) if absent else 0.0


def _is_of(words: Sequence[str], term: Term) -> bool:
    return any(name_uses_in_queries.is_lexeme_of(term.lexeme, word) for word in words)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence that a query is about an entity that it refers to.

    `lead` (−1 to 1) is the score of the best linked candidate minus the score of the best other one. `share_of_query`
    (0 to 1) is the name's share of the query's idf, `share_of_corpus` (0 to 1) the linked documents per chunk of the
    corpus, `share_of_candidates` (0 to 1) the share of the unguided candidates that are linked to an entity of the
    name. `written_small` (0 to 1) is the share of lower-case occurrences of the name in the best candidates, 0 if the
    query marks the name by a capital.
    `weak_meaning` (0 to 0.3) is how far a match by meaning alone is below the best possible one. `from_metadata` is set
    for an entity made from an author, team or the like. `metadata_lead` (−1 to 1) is the lead of the candidates whose
    metadata name an entity made from any metadata, 0 for other entities.
    """

    use: NameUse
    automatic: bool
    lead: float
    share_of_query: float
    share_of_corpus: float
    share_of_candidates: float
    written_small: float
    weak_meaning: float = 0.0
    metadata_lead: float = 0.0
    from_metadata: bool = False


def probability(evidence: Evidence) -> float:
    """Returns the probability, 0 to 1, that the query is about the entity."""
    return 1 / (1 + math.exp(-_logit(evidence)))


def _logit(evidence: Evidence) -> float:
    use = evidence.use
    return (
        FORM[use.form]
        + CASE[use.case]
        + AUTOMATIC * evidence.automatic
        + FULL_FROM_METADATA * (evidence.from_metadata and use.form == "full")
        + INCIDENTAL * use.is_incidental
        + PLACE * use.is_place
        + LEAD * min(evidence.lead, MAX_LEAD)
        + METADATA_LEAD * min(evidence.metadata_lead - MIN_METADATA_LEAD, 0.0) * (1 - evidence.share_of_query)
        + SHARE_OF_QUERY * (min(evidence.share_of_query, MAX_SHARE) - USUAL_SHARE)
        + SHARE_OF_CORPUS * evidence.share_of_corpus
        + SHARE_OF_CANDIDATES * max(0.0, evidence.share_of_candidates - USUAL_SHARE_OF_CANDIDATES)
        + WEAK_MEANING * evidence.weak_meaning
        + (WRITTEN_SMALL if use.form == "full" else WORD_WRITTEN_SMALL) * evidence.written_small
    )
