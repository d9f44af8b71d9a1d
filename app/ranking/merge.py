"""Merges the chunks of several hops, or of several lists, into one order.

classic: `rrf_score + 0.0005 if hop 1 + 0.0002 if its document appears once`. linked: a sum of signals, each
against the original question, `fused + cos + 0.5 expanded + 0.5 named + 1.5 linked + shared`, and, in its
place, what a chunk adds of the question's words to those above it: a question of several hops is answered by passages
that each hold another part of it.
rrf: `Σ weight / (k + rank)`, ranks from 1, nothing for a list that lacks the chunk (Cormack et al. 2009).
Ties go to the earlier hop, then to the id, so that an order is total and does not depend on the input's.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

HOP_1_BONUS = 0.0005
SINGLE_DOCUMENT_BONUS = 0.0002
WEIGHTS: Mapping[str, float] = {
    "fused": 1.0,
    "cos": 1.0,
    "expanded": 0.5,
    "named": 0.5,
    "linked": 1.5,
    "shared": 1.0,
}
"""Weights of the linked sum, set by hand (docs/decisions/0003-multihop.md)."""
MAX_LINKED, MAX_SHARED = 1.1813, 0.5907
"""The largest values of linked and shared: 2 / (1 + ln 2) and 1 / (1 + ln 2)."""
COVERAGE_WEIGHT = 2.0
"""Weight of the words that a chunk adds (docs/decisions/0003-multihop.md)."""
COVERAGE_POOL = 60
"""Chunks, the best by their sum, whose words are looked at."""
MAX_SUM = sum(WEIGHTS[name] for name in ("fused", "cos", "expanded", "named")) + (
    WEIGHTS["linked"] * MAX_LINKED + WEIGHTS["shared"] * MAX_SHARED
)
"""The linked sum of a chunk that every signal holds for perfect."""
MAX_LINKED_SCORE = MAX_SUM + COVERAGE_WEIGHT
"""The same of one that holds all words of the question: scores are shares of it."""

Id = TypeVar("Id", UUID, str)
"""Chunks have UUIDs; hits from elsewhere may have any id."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A chunk's combined score and the parts that add up to it."""

    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class HopHit(Generic[Id]):
    """A chunk that a hop found, with its RRF score in that hop's list."""

    chunk_id: Id
    document_id: Id
    hop: int
    rrf_score: float


def linked(signals: Mapping[str, float]) -> Scored:
    """The linked sum of one chunk's signals; an absent one counts 0, and a negative cosine too."""
    parts = {name: WEIGHTS[name] * max(value, 0.0) for name, value in signals.items() if value}
    return Scored(sum(parts.values()), parts)


def with_coverage(
    scores: Mapping[Id, Scored], held: Mapping[Id, Collection[str]], idf: Mapping[str, float], hops: Mapping[Id, int]
) -> dict[Id, Scored]:
    """The scores with what each chunk adds, in its place, of the question's words to the chunks above it.

    At each place comes the chunk for which its own score and `COVERS · Σ idf² / Σ idf²` are largest, the first sum over
    the words that it holds and no chunk above, the second over all (`idf`); `held` has the words of the chunks that
    are looked at. This is greedy maximum coverage (Nemhauser, Wolsey and Fisher 1978), lazily (Minoux 1978): what is
    added only shrinks, so the scores fall with the places and a chunk is weighed again only when it leads.
    """
    mass = {word: value * value for word, value in idf.items()}
    whole, missing, covered = math.fsum(mass.values()) or 1.0, set(mass), dict(scores)

    def added(one: Id) -> float:
        return COVERAGE_WEIGHT * math.fsum(mass[word] for word in missing.intersection(held[one])) / whole

    def place(one: Id) -> tuple[float, int, str, Id]:
        return (-round(scores[one].score + added(one), 12), hops.get(one, 1), str(one), one)

    heap = [place(one) for one in held if one in scores]
    heapq.heapify(heap)
    while heap:
        one = heap[0][-1]
        if (now := place(one)) != heap[0]:
            heapq.heapreplace(heap, now)
            continue
        heapq.heappop(heap)
        if gain := added(one):
            covered[one] = Scored(scores[one].score + gain, {**scores[one].parts, "covers": gain})
            missing.difference_update(held[one])
    return covered


def classic(found: Iterable[HopHit[Id]]) -> dict[Id, Scored]:
    """The classic score of every chunk; one that two hops found counts for the earlier."""
    kept: dict[Id, HopHit[Id]] = {}
    for chunk in sorted(found, key=lambda chunk: (chunk.hop, -chunk.rrf_score)):
        kept.setdefault(chunk.chunk_id, chunk)
    appearing = Counter(chunk.document_id for chunk in kept.values())
    return {chunk_id: _classic(chunk, single=appearing[chunk.document_id] == 1) for chunk_id, chunk in kept.items()}


def max_classic(first_place: float) -> float:
    """The classic score of a chunk of hop 1 that is first, with this RRF score, and alone of its document."""
    return first_place + HOP_1_BONUS + SINGLE_DOCUMENT_BONUS


def _classic(chunk: HopHit[Id], *, single: bool) -> Scored:
    parts = {"rrf": chunk.rrf_score}
    if chunk.hop == 1:
        parts["hop_1"] = HOP_1_BONUS
    if single:
        parts["single_document"] = SINGLE_DOCUMENT_BONUS
    return Scored(sum(parts.values()), parts)


def rrf(lists: Sequence[tuple[str, float, Sequence[Id]]], *, k: int) -> dict[Id, Scored]:
    """Reciprocal rank fusion of lists given as (name, weight, ids in order); an id's first place in a list counts."""
    parts: dict[Id, dict[str, float]] = {}
    for name, weight, ids in lists:
        for rank, chunk_id in enumerate(dict.fromkeys(ids), 1):
            shares = parts.setdefault(chunk_id, {})
            shares[name] = shares.get(name, 0.0) + weight / (k + rank)
    return {chunk_id: Scored(sum(shares.values()), shares) for chunk_id, shares in parts.items()}


def order(scores: Mapping[Id, Scored], hops: Mapping[Id, int]) -> list[Id]:
    """The ids by score, then by hop, then by id."""
    return sorted(scores, key=lambda i: (-round(scores[i].score, 12), hops.get(i, 1), str(i)))
