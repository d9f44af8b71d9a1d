"""Collects the evidence that a query is about the entities to which it refers, from what retrieval returned anyway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from app.ranking import aboutness, entity_scores
from app.ranking.aboutness import Evidence
from app.shapes import EntityMatch, HybridResult, Term
from app.text import name_uses

BEST = 5
"""Best candidates in which the case of a name is counted."""
SMALL_CORPUS = 100
"""Chunks from which the share of the corpus that is linked says anything about an entity."""


def weighed(
    matches: Sequence[EntityMatch],
    result: HybridResult,
    strengths: Mapping[UUID, Mapping[UUID, float]],
    *,
    forced: bool,
) -> list[EntityMatch]:
    """The matches with their aboutness, which is 1 if guidance is forced.

    `result` is that of the unguided search, `strengths` are link strengths by entity and document.
    """
    if forced:
        return [replace(match, aboutness=1.0) for match in matches]
    return [
        replace(match, aboutness=aboutness.probability(_evidence(match, result, strengths[match.entity_id])))
        for match in matches
    ]


def _evidence(match: EntityMatch, result: HybridResult, linked: Mapping[UUID, float]) -> Evidence:
    inside = [one.score for one in result.candidates if one.document_id in linked]
    outside = [one.score for one in result.candidates if one.document_id not in linked]
    return Evidence(
        use=match.use,
        automatic=entity_scores.is_automatic(match.origin, match.type),
        lead=max(inside, default=0.0) - max(outside, default=0.0),
        share_of_query=_share_of_query(match.use.words, result.terms),
        share_of_corpus=min(1.0, len(linked) / max(result.corpus_chunks, SMALL_CORPUS)),
        written_small=name_uses.small_share((one.content for one in result.candidates[:BEST]), match.use.words),
    )


def _share_of_query(words: Sequence[str], terms: Sequence[Term]) -> float:
    """The share of the query's idf that these words have; the usual one for a reference without a name.

    Other words that no chunk contains do not count.
    """
    if not words:
        return aboutness.USUAL_SHARE
    named = sum(term.idf * term.times for term in terms if _is_of(words, term))
    others = sum(term.idf * term.times for term in terms if term.df and not _is_of(words, term))
    return named / (named + others) if named else 0.0


def _is_of(words: Sequence[str], term: Term) -> bool:
    return any(name_uses.is_lexeme_of(term.lexeme, word) for word in words)
