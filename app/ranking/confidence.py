"""Computes the confidence of a hit.

A name, not a number: RRF scores say nothing about relevance, so confidence is read from which legs agree and how. The
answer's confidence is its first hit's.
"""

from __future__ import annotations

from app.shapes import Candidate, Confidence, QueryType

ORDER: tuple[Confidence, ...] = ("low", "medium", "medium_high", "high", "very_high")
MAX_TOP_RANK = 10


def of(candidate: Candidate, *, query_type: QueryType, exact: bool, relaxed: bool, entity: bool = False) -> Confidence:
    """The confidence of one hit.

    `exact`: it holds a phrase or identifier of the query, or the query names its title. `relaxed`: it was found only
    after the query had been relaxed. `entity`: it is linked to an entity of the query.
    """
    if relaxed:
        return "low"
    by_vector, by_text = candidate.vector_rank, candidate.text_rank
    if by_vector and by_text:
        if exact or by_vector == by_text == 1:
            return "very_high"
        return "high" if max(by_vector, by_text) <= MAX_TOP_RANK else "medium_high"
    if by_vector and (entity or (query_type == "conceptual" and by_vector <= MAX_TOP_RANK)):
        return "high"
    return "medium"


def at_least(found: Confidence, wanted: Confidence) -> bool:
    """Whether `found` is `wanted` or surer."""
    return ORDER.index(found) >= ORDER.index(wanted)
