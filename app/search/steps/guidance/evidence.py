"""Computes the aboutness of each entity to which a query refers, from evidence in what the search has already read."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from app.query.matches import EntityMatch
from app.query.types import HybridResult, Term
from app.search.steps.guidance import aboutness, entity_scores
from app.search.steps.guidance.aboutness import Evidence
from app.search.steps.guidance.linked_documents import EntityLinks
from app.text.names import name_uses, names

BEST = 5
"""Best candidates in which the case of a name is counted."""
FEW_CANDIDATES = 20
"""Candidates from which the share of them that is linked says anything about an entity."""
TITLE, METADATA = 4.0, 2.0
"""Strength of a link by the title, and the smallest of one by metadata."""
SMALL_CORPUS = 100
"""Chunks from which the share of the corpus that is linked says anything about an entity."""


def weigh(
    matches: Sequence[EntityMatch],
    result: HybridResult,
    links: EntityLinks,
    *,
    exponent: float = 1.0,
    forced: bool,
) -> list[EntityMatch]:
    """The matches with their aboutness, which is 1 if guidance is forced.

    `result` is that of the unguided search, whose scores are compared as powers with this exponent.
    """
    if forced:
        return [replace(match, aboutness=1.0) for match in matches]
    named = _documents_by_name(matches, links)
    return _least_of_name(
        [
            replace(match, aboutness=aboutness.probability(_evidence(match, result, links, named, exponent)))
            for match in matches
        ]
    )


def agreement(matches: Sequence[EntityMatch]) -> float:
    """Returns the mean aboutness of the names in the query as a share of the largest; 1 if it has at most one name.

    A name that the query is not about makes it less certain that it is about the others. What is certainly not used as
    a name does not count.
    """
    by_name: dict[tuple[str, ...], float] = {}
    for match in matches:
        if _is_named(match) and match.use.case != "small" and not match.use.is_incidental:
            by_name[match.use.words] = max(by_name.get(match.use.words, 0.0), match.aboutness or 0.0)
    largest = max(by_name.values(), default=0.0)
    return sum(by_name.values()) / len(by_name) / largest if largest else 1.0


def _least_of_name(matches: Sequence[EntityMatch]) -> list[EntityMatch]:
    """The matches with the smallest aboutness of those to which the same words of the query refer.

    They are namesakes, or one entity in several spellings: the query does not say which of them it means.
    """
    least: dict[tuple[str, ...], float] = {}
    for match in filter(_is_named, matches):
        least[match.use.words] = min(least.get(match.use.words, 1.0), match.aboutness or 0.0)
    return [replace(match, aboutness=least[match.use.words]) if _is_named(match) else match for match in matches]


def _is_named(match: EntityMatch) -> bool:
    """Whether the query refers to the entity by a name that somebody gave it."""
    return bool(match.use.words) and not entity_scores.is_automatic(match.origin, match.type)


def _documents_by_name(matches: Sequence[EntityMatch], links: EntityLinks) -> dict[tuple[str, ...], set[UUID]]:
    """The documents that are linked to any of the entities to which the same words of the query refer.

    They are namesakes, or one entity in several spellings.
    """
    found: dict[tuple[str, ...], set[UUID]] = {}
    for match in matches:
        found.setdefault(match.use.words, set()).update(links.strengths[match.entity_id])
    return found


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
    automatic = entity_scores.is_automatic(match.origin, match.type)
    return Evidence(
        use=match.use,
        automatic=automatic,
        lead=_lead(result, {one.document_id for one in result.candidates if one.document_id in linked}, exponent),
        share_of_query=_share_of_query(match.use.words, result.terms),
        share_of_corpus=min(1.0, links.counts[match.entity_id] / max(result.corpus_chunks, SMALL_CORPUS)),
        share_of_candidates=namesakes_found / max(len(result.candidates), FEW_CANDIDATES),
        written_small=name_uses.small_share((one.content for one in result.candidates[:BEST]), match.use),
        weak_meaning=entity_scores.MAX_DESCRIPTION - match.score if match.matched_by == "description" else 0.0,
        metadata_lead=_lead(result, _named_by_metadata(match, result, linked), exponent)
        if match.origin == "metadata"
        else 0.0,
        from_metadata=match.origin == "metadata" and not automatic,
    )


def _lead(result: HybridResult, documents: Container[UUID], exponent: float) -> float:
    """The score of the best candidate of these documents minus that of the best other one."""
    inside = max((one.score for one in result.candidates if one.document_id in documents), default=0.0)
    outside = max((one.score for one in result.candidates if one.document_id not in documents), default=0.0)
    return float(inside**exponent - outside**exponent)


def _named_by_metadata(match: EntityMatch, result: HybridResult, linked: Mapping[UUID, float]) -> set[UUID]:
    """The documents of candidates whose metadata name an entity that was made from metadata."""
    strengths = {one.document_id: (linked.get(one.document_id, 0.0), one.title) for one in result.candidates}
    return {
        document_id
        for document_id, (strength, title) in strengths.items()
        if strength >= METADATA and (strength < TITLE or strength - TITLE >= METADATA or not _is_title(title, match))
    }


def _is_title(title: str, match: EntityMatch) -> bool:
    name = names.title_name(title)
    return name is not None and name.entity_id == match.entity_id


def _share_of_query(words: Sequence[str], terms: Sequence[Term]) -> float:
    """The share of the query's idf that these words have; the usual one for a reference without a name.

    Other words that no chunk contains do not count, nor do alternatives to words of the query.
    """
    if not words:
        return aboutness.USUAL_SHARE
    named = sum(term.idf * term.times for term in terms if _is_of(words, term))
    others = sum(term.idf * term.times for term in terms if _counts(term) and not _is_of(words, term))
    return named / (named + others) if named else 0.0


def _counts(term: Term) -> bool:
    return term.df > 0 and not term.is_alternative


def _is_of(words: Sequence[str], term: Term) -> bool:
    return any(name_uses.is_lexeme_of(term.lexeme, word) for word in words)
