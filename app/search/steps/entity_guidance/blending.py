"""Blends the scores of passages with those of their documents' entities, and boosts passages that mention entities.

`final = (1 − w) · doc_score + w · link`, with `w = (1 − alpha) · aboutness · agreement` (see `query_aboutness`). `link`
is the largest value of the document's entities, 0 without entities: `score · aboutness`, as a share of the largest,
times `0.5 + 0.5 · min(1, strength / 4)`.
`boosted = score · (1 + min(0.1 · Σ aboutness · mentions, 0.5))`. To keep hits in order, a boosted score may exceed 1;
the shown score is capped.

RRF scores fall slowly: rank 10 of both legs has 0.87 of the score of rank 1. The logarithm of that share is about a
fifth of the one for convex scores. RRF scores are therefore boosted by the p-th root of the factor, and blended as a
power mean: `final^p = (1 − w) · doc_score^p + w · link`, with p = 5. With p = 1 both are the formulas above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from app.enums import FusionUsed
from app.query import scoring_constants
from app.query.search_types import Boost, EntityMatch, Hit, HitGuidance, Link

LIFT_PER_MENTION, MAX_LIFT = 0.1, 0.5
WEAKEST_LINK, FULL_STRENGTH = 0.5, 4.0
"""The factor of a link of strength 0, and the least strength with factor 1: the strength of a title."""
KEPT_WITHIN = 10
"""The best unguided hits stay within this rank."""


def weight(matches: Iterable[EntityMatch], *, alpha: float, absent: float = 0.0) -> float:
    """Returns the weight of the scores of links, 0 to 1.

    `absent` is the share of the query's idf that no document can match: the scores of documents count that much less.
    """
    whole = (1 - alpha) * max((match.aboutness or 0.0 for match in matches), default=0.0)
    return whole / (whole + (1 - absent) * (1 - whole)) if whole else 0.0


def links(
    matches: Sequence[EntityMatch], strengths: Mapping[UUID, Mapping[UUID, float]], documents: Iterable[UUID]
) -> dict[UUID, Link]:
    """The link of each document that is linked to one of the entities.

    `strengths` are by entity and document. The strength of a document's link is their sum over its entities.
    """
    largest = max((match.score * (match.aboutness or 0.0) for match in matches), default=0.0) or 1.0
    found: dict[UUID, Link] = {}
    for document in documents:
        links = [
            (match.score * (match.aboutness or 0.0) / largest * link_factor(strength), match.entity_id, strength)
            for match in matches
            if (strength := strengths[match.entity_id].get(document)) is not None
        ]
        if links:
            score, entity_id, _strength = max(links, key=lambda link: (link[0], link[2]))
            found[document] = Link(document, entity_id, score, sum(strength for *_, strength in links))
    return found


def link_factor(strength: float) -> float:
    """Returns the factor of a link of this strength, 0.5 to 1."""
    return WEAKEST_LINK + (1 - WEAKEST_LINK) * min(1.0, strength / FULL_STRENGTH)


def blend(
    hits: Iterable[Hit], links: Mapping[UUID, Link], *, weight: float, fusion: FusionUsed = "convex"
) -> list[Hit]:
    """Returns the hits by final score; `links` are by chunk.

    Ties are ordered by link, linked ones then by vector score, and last as in the input.
    """
    scored = [_blend(hit, links.get(hit.candidate.chunk_id), weight, fusion) for hit in hits]
    return sorted(scored, key=_order)


def final_score(doc_score: float, link_score: float, *, weight: float, fusion: FusionUsed) -> float:
    """Blends the score of a document with the score of its link."""
    exponent = scoring_constants.EXPONENTS[fusion]
    powered: float = (1 - weight) * max(doc_score, 0.0) ** exponent + weight * link_score
    return powered if exponent == 1 else powered ** (1 / exponent)


def _blend(hit: Hit, link: Link | None, weight: float, fusion: FusionUsed) -> Hit:
    doc_score = hit.candidate.score
    guidance = (
        HitGuidance(link.entity_id, link.score, link.strength, doc_score)
        if link
        else HitGuidance(None, 0.0, 0.0, doc_score)
    )
    final = final_score(doc_score, guidance.score, weight=weight, fusion=fusion)
    exponent = scoring_constants.EXPONENTS[fusion]
    return hit.rescored(
        "entity", final, guidance=guidance, weight=weight, exponent=exponent, parent_score=guidance.score
    )


def _order(hit: Hit) -> tuple[float, float, float]:
    strength, near = (hit.guidance.strength, hit.candidate.vector_score or 0.0) if hit.guidance else (0.0, 0.0)
    return -round(hit.candidate.score, 12), -strength, -near


def keep(hits: Sequence[Hit], chunk_ids: Collection[UUID]) -> list[Hit]:
    """Moves the hits of `chunk_ids`, at most KEPT_WITHIN, up into the first KEPT_WITHIN.

    A moved hit gets the score of the hit that it follows, and a hit of `chunk_ids` that is there already at least the
    scores of the hits that move down, so that scores still descend.
    """
    low = [hit for hit in hits[KEPT_WITHIN:] if hit.candidate.chunk_id in chunk_ids]
    if not low:
        return list(hits)
    first, least = list(hits[:KEPT_WITHIN]), 0.0
    for _ in low:
        last = max(i for i, hit in enumerate(first) if hit.candidate.chunk_id not in chunk_ids)
        least = first.pop(last).candidate.score
    first = [hit if hit.candidate.score >= least else hit.rescored("kept", least) for hit in first]
    floor = min((hit.candidate.score for hit in first), default=0.0)
    first += [hit.rescored("kept", floor) for hit in low]
    shown = {hit.candidate.chunk_id for hit in first}
    return [*first, *(hit for hit in hits if hit.candidate.chunk_id not in shown)]


def boost_factor(mentions: float, fusion: FusionUsed = "convex") -> float:
    """Returns the factor of a chunk's score. `mentions` are weighted by the aboutness of their entities."""
    factor: float = (1 + min(LIFT_PER_MENTION * mentions, MAX_LIFT)) ** (1 / scoring_constants.EXPONENTS[fusion])
    return factor


def boost(hits: Sequence[Hit], mentions: Mapping[UUID, int], factors: Mapping[UUID, float]) -> list[Hit]:
    """Returns the hits by boosted score, from the mentions and factor of each chunk. The previous score orders ties."""
    scores = [hit.candidate.score * factors.get(hit.candidate.chunk_id, 1.0) for hit in hits]
    order = sorted(range(len(hits)), key=lambda index: (-round(scores[index], 12), -hits[index].candidate.score))
    return [_lift(hits[old], mentions, factors, old - new) for new, old in enumerate(order)]


def _lift(hit: Hit, mentions: Mapping[UUID, int], factors: Mapping[UUID, float], moved: int) -> Hit:
    factor = factors.get(hit.candidate.chunk_id, 1.0)
    if factor == 1.0:
        return hit
    boost = Boost(mentions[hit.candidate.chunk_id], moved)
    return hit.rescored("boost", hit.candidate.score * factor, boost=boost, factor=factor)
