"""Blends the scores of passages with those of their documents' entities, and boosts passages that mention entities.

`final = alpha · doc_score + (1 − alpha) · parent_entity_score`, the parent being the best entity that the
document is linked to, never their sum. `boosted = min(1, score · (1 + min(0.1 · mentions, 0.5)))`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from app.shapes import Boost, Hit, Link, Parent

LIFT_PER_MENTION, MAX_LIFT = 0.1, 0.5


def blended(hits: Iterable[Hit], links: Mapping[UUID, Link], *, alpha: float) -> list[Hit]:
    """The hits by their final score; ties go to the stronger link, then to the order given."""
    found = [_blended(hit, links.get(hit.candidate.document_id), alpha) for hit in hits]
    return sorted(found, key=_order)


def _blended(hit: Hit, link: Link | None, alpha: float) -> Hit:
    own = hit.candidate.score
    parent = Parent(link.entity_id, link.score, link.strength, own) if link else Parent(None, 0.0, 0.0, own)
    final = alpha * own + (1 - alpha) * parent.score
    return replace(hit, candidate=replace(hit.candidate, score=final), parent=parent)


def _order(hit: Hit) -> tuple[float, float]:
    return (-round(hit.candidate.score, 12), -(hit.parent.strength if hit.parent else 0.0))


def boost_factor(mentions: int, *, per_mention: float = LIFT_PER_MENTION, most: float = MAX_LIFT) -> float:
    """By how much so many mentions of one entity lift a score."""
    return 1 + min(per_mention * mentions, most)


def boosted(hits: Sequence[Hit], mentions: Mapping[UUID, int], factors: Mapping[UUID, float]) -> list[Hit]:
    """The hits by their lifted score, from each chunk's mentions and factor; ties go to the better score before."""
    found = [_lifted(hit, mentions, factors) for hit in hits]
    order = sorted(
        range(len(found)), key=lambda place: (-round(found[place].candidate.score, 12), _before(found[place]))
    )
    return [_moved(found[old], old - new) for new, old in enumerate(order)]


def _lifted(hit: Hit, mentions: Mapping[UUID, int], factors: Mapping[UUID, float]) -> Hit:
    by, before = factors.get(hit.candidate.chunk_id, 1.0), hit.candidate.score
    if by == 1.0:
        return hit
    lift = Boost(by, mentions[hit.candidate.chunk_id], before)
    return replace(hit, candidate=replace(hit.candidate, score=min(1.0, before * by)), boost=lift)


def _before(hit: Hit) -> float:
    return -(hit.boost.score_before if hit.boost else hit.candidate.score)


def _moved(hit: Hit, places: int) -> Hit:
    return replace(hit, boost=replace(hit.boost, moved=places)) if hit.boost else hit
