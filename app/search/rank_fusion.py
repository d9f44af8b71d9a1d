"""Merges the hits of several hops or lists into one order, by RRF or by RRF with bonuses.

rrf: `Σ weight / (k + rank)`, ranks from 1, 0 for a list without the chunk (Cormack et al. 2009).
classic: `rrf_score + 0.0005 if hop 1 + 0.0002 if its document appears once`.
Ties are ordered by hop, then by id, so the order is total and independent of the input order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

HOP_1_BONUS = 0.0005
SINGLE_DOCUMENT_BONUS = 0.0002

Id = TypeVar("Id", UUID, str)
"""The id of a chunk is a UUID; hits of other systems have strings."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The combined score of a chunk, and the parts that add up to it."""

    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class HopHit(Generic[Id]):
    """A chunk in the results of a hop, with its RRF score in that hop."""

    chunk_id: Id
    document_id: Id
    hop: int
    rrf_score: float


def classic(hits: Iterable[HopHit[Id]]) -> dict[Id, Scored]:
    """Returns the classic score of every chunk. A chunk found by several hops counts for the earliest."""
    kept: dict[Id, HopHit[Id]] = {}
    for hit in sorted(hits, key=lambda hit: (hit.hop, -hit.rrf_score)):
        kept.setdefault(hit.chunk_id, hit)
    appearing = Counter(chunk.document_id for chunk in kept.values())
    return {chunk_id: _classic(chunk, single=appearing[chunk.document_id] == 1) for chunk_id, chunk in kept.items()}


def max_classic(rrf_score: float) -> float:
    """Returns the largest classic score for this RRF score: the score with both bonuses."""
    return rrf_score + HOP_1_BONUS + SINGLE_DOCUMENT_BONUS


def _classic(chunk: HopHit[Id], *, single: bool) -> Scored:
    parts = {"rrf": chunk.rrf_score}
    if chunk.hop == 1:
        parts["hop_1"] = HOP_1_BONUS
    if single:
        parts["single_document"] = SINGLE_DOCUMENT_BONUS
    return Scored(sum(parts.values()), parts)


def rrf(lists: Sequence[tuple[str, float, Sequence[Id]]], *, k: int) -> dict[Id, Scored]:
    """Returns the reciprocal rank fusion of (name, weight, ids) lists. In each list an id counts at its first rank."""
    parts: dict[Id, dict[str, float]] = {}
    for name, weight, ids in lists:
        for rank, chunk_id in enumerate(dict.fromkeys(ids), 1):
            parts.setdefault(chunk_id, {})[name] = weight / (k + rank)
    return {chunk_id: Scored(sum(shares.values()), shares) for chunk_id, shares in parts.items()}


def order(scores: Mapping[Id, Scored], hops: Mapping[Id, int]) -> list[Id]:
    """Returns the ids by score, then by hop, then by id."""
    keyed = [(-round(scored.score, 12), hops.get(i, 1), i) for i, scored in scores.items()]
    return [i for _score, _hop, i in sorted(keyed)]
