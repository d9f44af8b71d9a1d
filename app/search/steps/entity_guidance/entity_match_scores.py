"""Scores the entities that a query may refer to.

Scores are 0 to 1. An entity has the largest score of its matches. Ties are ordered by the kind of match: exact name,
similar name, description, role, team, fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from app.enums import MatchedBy, Origin
from app.query.search_types import EntityMatch
from app.text.names.fuzzy_names import MIN_SIMILARITY

MIN_FUZZY, MAX_FUZZY = 0.6, 0.95
PART_SCORE = 0.9
"""Score of a match by first or last name alone, however many people have that name."""
ROLE_SCORE = 0.6
MAX_FACT = 0.55
FULL_SCORE_TERMS = 3
"""Number of query terms that facts must cover for the full score. A single common word is weak evidence."""
MIN_COSINE, MIN_DESCRIPTION, MAX_DESCRIPTION = 0.37, 0.5, 0.8
"""The least cosine of a query to role, description and facts that counts, its score, and the largest score."""
MIN_FIT, WEAK_SUPPORT = 0.5, 0.1
"""The least factor of a namesake without support, and the amount that smooths the ratio of supports in `fit`."""
UNRELATED_COSINE = 0.2
"""Up to this cosine, a query counts as unrelated to role, description and facts."""
MIN_SPREAD = 0.1
"""A full list of entities is too broad if the same words refer to all of them, and the first and the last score differ
by less than this."""

PROPER_TYPES = frozenset(
    {"person", "team", "project", "vendor", "client", "customer", "product", "place"}
    | {"organisation", "organization", "company"}
)
"""Types of entities in metadata that have proper names."""

_PRECEDENCE: tuple[MatchedBy, ...] = ("name", "fuzzy", "description", "role", "team", "fact")
_OWNERS: tuple[Origin, ...] = ("user", "metadata", "title", "text")


def fuzzy(similarity: float) -> float:
    """Scores a similarity of spelling: linear from 0.6 at MIN_SIMILARITY to 0.95 at 1."""
    return MIN_FUZZY + (MAX_FUZZY - MIN_FUZZY) * ((similarity - MIN_SIMILARITY) / (1 - MIN_SIMILARITY))


def fact(covered: float, terms: int) -> float:
    """Scores facts, 0 to 0.55, by the share of the query's idf that they cover and the number of terms covered."""
    return MAX_FACT * covered * min(1.0, terms / FULL_SCORE_TERMS)


def description(cosine: float) -> float:
    """Scores a similarity of meaning: `0.5 + (cos − 0.37)`, which `best` caps at 0.8; 0 below a cosine of 0.37."""
    return MIN_DESCRIPTION + (cosine - MIN_COSINE) if cosine >= MIN_COSINE else 0.0


def support(covered: float, cosine: float | None) -> float:
    """Scores how well the rest of a query fits one of several namesakes.

    `covered` is the share of the rest's idf in texts about the entity. A cosine counts above UNRELATED_COSINE.
    """
    return covered + max(0.0, (cosine or 0.0) - UNRELATED_COSINE)


def fit(support: float, best: float) -> float:
    """Returns the factor of a namesake's score, 0.5 to 1: `0.5 + 0.5 · (support + 0.1) / (best + 0.1)`.

    The namesake with the best support has 1. Weak support makes little difference.
    """
    return MIN_FIT + (1 - MIN_FIT) * (support + WEAK_SUPPORT) / (best + WEAK_SUPPORT)


def best(matches: Iterable[EntityMatch], *, limit: int) -> list[EntityMatch]:
    """Returns the best `limit` entities, each with its best score, capped. The uncapped scores order ties at the cap.

    If an entity matches by words with at least MIN_DESCRIPTION, its score by meaning is ignored. An extracted entity is
    dropped if an entity of the user matches by the same key.
    """
    matches = list(matches)
    by_words = {one.entity_id for one in matches if one.matched_by != "description" and one.score >= MIN_DESCRIPTION}
    kept: dict[UUID, EntityMatch] = {}
    for match in matches:
        if match.matched_by == "description" and match.entity_id in by_words:
            continue
        earlier = kept.get(match.entity_id)
        if match.score > 0 and (earlier is None or _order(match) < _order(earlier)):
            kept[match.entity_id] = match
    owned = {match.key for match in kept.values() if match.origin == "user" and match.key}
    remaining = [match for match in kept.values() if match.origin == "user" or match.key not in owned]
    return [replace(match, score=round(_cap(match), 6)) for match in sorted(remaining, key=_order)[:limit]]


def fallback_reason(matches: Sequence[EntityMatch], *, threshold: float, limit: int) -> str | None:
    """Returns why these entities are not used for the search, or None."""
    if not matches or matches[0].score < threshold:
        return "not_entity_centric"
    similar = len(matches) == limit > 1 and matches[0].score - matches[-1].score < MIN_SPREAD
    if similar and len({match.use.words for match in matches}) == 1:
        return "too_broad"
    return None


def is_automatic(origin: Origin, kind: str) -> bool:
    """Returns whether an entity was made from a title or a tag, which are often ordinary words."""
    return origin in ("title", "text") or (origin == "metadata" and kind not in PROPER_TYPES)


def _cap(match: EntityMatch) -> float:
    return min(MAX_DESCRIPTION, match.score) if match.matched_by == "description" else match.score


def _order(match: EntityMatch) -> tuple[float, int, float, int, int, str, int, str]:
    """The sort key of a match. Its last two parts prefer, among the names of an entity, the one with most words."""
    kind, owner = _PRECEDENCE.index(match.matched_by), _OWNERS.index(match.origin)
    capped, uncapped, key = round(_cap(match), 9), round(match.score, 9), match.key or ""
    return (-capped, kind, -uncapped, owner, -len(match.name), str(match.entity_id), -key.count(" "), key)
