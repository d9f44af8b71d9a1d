"""In which order do the hits of several lists come?

The lists may come from several searches, hops or systems; the arithmetic is the scales', and every part of a score is
kept. Hits from elsewhere need only an id and an order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from app.ranking import diversity, merge
from app.ranking.merge import Hopped, Scored

Method = Literal["rrf", "classic"]
MMR_LAMBDA = 0.7


@dataclass(frozen=True, slots=True)
class Listed:
    """A hit of a list: its id, and what else is known of it."""

    hit_id: str
    document_id: str | None = None
    content: str = ""
    score: float | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """A list of hits, best first."""

    name: str
    hits: Sequence[Listed]
    weight: float = 1.0
    hop: int | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """A hit's place among all lists: the combined score with its parts, and its rank in each list that holds it."""

    hit: Listed
    score: float
    combined_score: float
    parts: Mapping[str, float]
    ranks: Mapping[str, int]
    hop: int


def run(lists: Sequence[Ranking], *, k: int, method: Method, mmr: bool, limit: int) -> list[Merged]:
    """The hits of all lists as one. `score` is `combined_score` as a share of the best that the lists allow."""
    hits: dict[str, Listed] = {}
    hops: dict[str, int] = {}
    ranks: dict[str, dict[str, int]] = {}
    for place, ranking in enumerate(lists, 1):
        for rank, hit in enumerate(ranking.hits, 1):
            hits.setdefault(hit.hit_id, hit)
            ranks.setdefault(hit.hit_id, {}).setdefault(ranking.name, rank)
            hops[hit.hit_id] = min(hops.get(hit.hit_id, 99), ranking.hop or (place if method == "classic" else 1))
    scores = _classic(lists, hits, hops, k) if method == "classic" else _rrf(lists, k)
    best = _best_possible(lists, k, method)
    merged = [
        Merged(hits[i], min(1.0, scores[i].score / best), scores[i].score, scores[i].parts, ranks[i], hops[i])
        for i in merge.ordered(scores, hops)
    ]
    return _diverse(merged, limit) if mmr else merged[:limit]


def _rrf(lists: Sequence[Ranking], k: int) -> dict[str, Scored]:
    return merge.rrf([(ranking.name, ranking.weight, [h.hit_id for h in ranking.hits]) for ranking in lists], k=k)


def _classic(
    lists: Sequence[Ranking], hits: Mapping[str, Listed], hops: Mapping[str, int], k: int
) -> dict[str, Scored]:
    """Each hit's RRF score within the hop that found it first, and the bonuses."""
    found = []
    for hop in sorted(set(hops.values())):
        of_hop = [ranking for place, ranking in enumerate(lists, 1) if (ranking.hop or place) == hop]
        for hit_id, scored in _rrf(of_hop, k).items():
            found.append(Hopped(hit_id, hits[hit_id].document_id or hit_id, hop, scored.score))
    return merge.classic(found)


def _best_possible(lists: Sequence[Ranking], k: int, method: Method) -> float:
    if method == "rrf":
        return sum(ranking.weight for ranking in lists) / (k + 1) or 1.0
    by_hop: dict[int, float] = {}
    for place, ranking in enumerate(lists, 1):
        hop = ranking.hop or place
        by_hop[hop] = by_hop.get(hop, 0.0) + ranking.weight / (k + 1)
    return merge.best_classic(max(by_hop.values(), default=1.0))


def _diverse(merged: Sequence[Merged], limit: int) -> list[Merged]:
    order = diversity.mmr(
        [hit.score for hit in merged], [hit.hit.content for hit in merged], trade=MMR_LAMBDA, limit=limit
    )
    return [merged[place] for place in order]
