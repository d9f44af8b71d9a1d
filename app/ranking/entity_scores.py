"""Scores the entities that a query may refer to.

Scores in 0–1 by what matched, merged by their maximum: an exact name over a similar one, over a description,
over a role or team, over a fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from app.shapes import EntityMatch, MatchedBy, Origin

MIN_FUZZY, MAX_FUZZY = 0.6, 0.95
MIN_SIMILARITY = 0.75
"""Similarity of spelling, 0 to 1, from which two names may be the same."""
PART_SCORE = 0.9
"""For a person's first or last name alone, however many bear it: many of them are too broad a list."""
ROLE_SCORE = 0.6
MAX_FACT = 0.55
FULL_SCORE_TERMS = 3
"""Terms of a query that a fact must cover to count in full: one word that a fact holds says little of whom is meant."""
MIN_COSINE, COSINE_RANGE, MAX_DESCRIPTION = 0.3, 0.5, 0.8
MIN_SPREAD = 0.1
"""The least distance between the best and the last entity of a full list."""

_PRECEDENCE: tuple[MatchedBy, ...] = ("name", "fuzzy", "description", "role", "team", "fact")
_OWNERS: tuple[Origin, ...] = ("user", "metadata", "title", "text")


def fuzzy(similarity: float) -> float:
    """0.6 for the least likeness that counts, 0.95 for all but the same spelling."""
    return MIN_FUZZY + (MAX_FUZZY - MIN_FUZZY) * max(
        0.0, min(1.0, (similarity - MIN_SIMILARITY) / (1 - MIN_SIMILARITY))
    )


def fact(covered: float, terms: int) -> float:
    """Up to 0.55 by the share of the query's idf that an entity's facts cover with so many of its terms."""
    return MAX_FACT * covered * min(1.0, terms / FULL_SCORE_TERMS)


def description(cosine: float) -> float:
    """`(cos − 0.3) / 0.5`, between 0 and 0.8."""
    return max(0.0, min(MAX_DESCRIPTION, (cosine - MIN_COSINE) / COSINE_RANGE))


def best(found: Iterable[EntityMatch], *, limit: int) -> list[EntityMatch]:
    """Each entity once with its best score, the best `limit` first; an automatic entity gives way to the user's own."""
    kept: dict[UUID, EntityMatch] = {}
    for match in found:
        known = kept.get(match.entity_id)
        if match.score > 0 and (known is None or _place(match) < _place(known)):
            kept[match.entity_id] = match
    owned = {match.key for match in kept.values() if match.origin == "user" and match.key}
    ours = [match for match in kept.values() if match.origin == "user" or match.key not in owned]
    return [replace(match, score=round(match.score, 6)) for match in sorted(ours, key=_place)[:limit]]


def fallback_reason(matches: Sequence[EntityMatch], *, threshold: float, limit: int) -> str | None:
    """The reason not to be guided by these entities, or None."""
    if not matches or matches[0].score < threshold:
        return "not_entity_centric"
    if len(matches) == limit > 1 and matches[0].score - matches[-1].score < MIN_SPREAD:
        return "too_broad"
    return None


def _place(match: EntityMatch) -> tuple[float, int, int, int, str]:
    by, owner = _PRECEDENCE.index(match.matched_by), _OWNERS.index(match.origin)
    return (-round(match.score, 9), by, owner, -len(match.name), str(match.entity_id))
