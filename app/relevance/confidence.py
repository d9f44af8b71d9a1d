"""Computes the confidence level of a hit, low to very_high, from the ranks in its legs and literal matches.

Confidence is a level, because RRF scores do not measure relevance: it follows from the legs that found the hit and its
ranks there. The confidence of an answer is that of its first hit.
"""

from __future__ import annotations

from app.kinds import Confidence, QueryType
from app.query.types import Candidate

ORDER: tuple[Confidence, ...] = ("low", "medium", "medium_high", "high", "very_high")
MAX_TOP_RANK = 10


def of(candidate: Candidate, *, query_type: QueryType, exact: bool, relaxed: bool, entity: bool = False) -> Confidence:
    """Returns the confidence of one hit.

    `exact`: the hit contains a phrase or identifier of the query, or the query contains its title; without that, no hit
    of a query with an identifier is certain. `relaxed`: it was found only after the query was relaxed. `entity`: it is
    linked to an entity of the query.
    """
    if relaxed:
        return "low"
    by_vector, by_text = candidate.vector_rank, candidate.text_rank
    if by_vector and by_text:
        if exact or (by_vector == by_text == 1 and query_type != "technical"):
            return "very_high"
        return "high" if max(by_vector, by_text) <= MAX_TOP_RANK else "medium_high"
    if by_vector and (entity or (query_type == "conceptual" and by_vector <= MAX_TOP_RANK)):
        return "high"
    return "medium"


def at_least(confidence: Confidence, minimum: Confidence) -> bool:
    """Returns whether `confidence` is at least `minimum`."""
    return ORDER.index(confidence) >= ORDER.index(minimum)
