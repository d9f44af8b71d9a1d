"""Blends the scores of passages with those of their documents' entities, and boosts passages that mention entities.

`final = alpha · doc_score + (1 − alpha) · parent_entity_score`, where the parent is the best entity that is linked to
the document. `boosted = min(1, score · (1 + min(0.1 · mentions, 0.5)))`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from app.shapes import Boost, Hit, Link, Parent

LIFT_PER_MENTION, MAX_LIFT = 0.1, 0.5


def blended(hits: Iterable[Hit], links: Mapping[UUID, Link], *, alpha: float) -> list[Hit]:
    """Returns the hits by final score; ties are ordered by link strength, then by the input order."""
    scored = [_blended(hit, links.get(hit.candidate.document_id), alpha) for hit in hits]
    return sorted(scored, key=_order)


def _blended(hit: Hit, link: Link | None, alpha: float) -> Hit:
    doc_score = hit.candidate.score
    parent = Parent(link.entity_id, link.score, link.strength, doc_score) if link else Parent(None, 0.0, 0.0, doc_score)
    final = alpha * doc_score + (1 - alpha) * parent.score
    return replace(hit, candidate=replace(hit.candidate, score=final), parent=parent)


def _order(hit: Hit) -> tuple[float, float]:
    return (-round(hit.candidate.score, 12), -(hit.parent.strength if hit.parent else 0.0))


def boost_factor(mentions: int, *, per_mention: float = LIFT_PER_MENTION, most: float = MAX_LIFT) -> float:
    """Returns the factor, from 1 to 1 + `most`, for this number of mentions of one entity."""
    return 1 + min(per_mention * mentions, most)


def boosted(hits: Sequence[Hit], mentions: Mapping[UUID, int], factors: Mapping[UUID, float]) -> list[Hit]:
    """Returns the hits by boosted score, from the mentions and factor of each chunk; ties by the score before."""
    lifted = [_lifted(hit, mentions, factors) for hit in hits]
    order = sorted(
        range(len(lifted)), key=lambda index: (-round(lifted[index].candidate.score, 12), _before(lifted[index]))
    )
    return [_moved(lifted[old], old - new) for new, old in enumerate(order)]


def _lifted(hit: Hit, mentions: Mapping[UUID, int], factors: Mapping[UUID, float]) -> Hit:
    factor, before = factors.get(hit.candidate.chunk_id, 1.0), hit.candidate.score
    if factor == 1.0:
        return hit
    boost = Boost(factor, mentions[hit.candidate.chunk_id], before)
    return replace(hit, candidate=replace(hit.candidate, score=min(1.0, before * factor)), boost=boost)


def _before(hit: Hit) -> float:
    return -(hit.boost.score_before if hit.boost else hit.candidate.score)


def _moved(hit: Hit, places: int) -> Hit:
    return replace(hit, boost=replace(hit.boost, moved=places)) if hit.boost else hit
