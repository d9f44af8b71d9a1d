"""In which order do the chunks of several hops, or of several lists, come?

classic: `rrf_score + 0.0005 if hop 1 + 0.0002 if its document appears once` (SPEC §5). linked: a sum of signals, each
against the original question, `fused + cos + 0.5 expanded + 0.5 named + 1.5 linked + shared` (SPEC §5).
rrf: `Σ weight / (k + rank)`, ranks from 1, nothing for a list that lacks the chunk (Cormack et al. 2009).
Ties go to the earlier hop, then to the id, so that an order is total and does not depend on the input's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
"""Weights of the linked sum, set by hand (SPEC §5, docs/decisions/0003)."""
MOST_LINKED, MOST_SHARED = 1.1813, 0.5907
"""The largest values of linked and shared: 2 / (1 + ln 2) and 1 / (1 + ln 2)."""
BEST_LINKED = sum(WEIGHTS[name] for name in ("fused", "cos", "expanded", "named")) + (
    WEIGHTS["linked"] * MOST_LINKED + WEIGHTS["shared"] * MOST_SHARED
)
"""The linked sum of a chunk that every signal holds for perfect: scores are shares of it."""

Id = TypeVar("Id", UUID, str)
"""Chunks have UUIDs; hits from elsewhere may have any id."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A chunk's combined score and the parts that add up to it."""

    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hopped(Generic[Id]):
    """A chunk that a hop found, with its RRF score in that hop's list."""

    chunk_id: Id
    document_id: Id
    hop: int
    rrf_score: float


def linked(signals: Mapping[str, float]) -> Scored:
    """The linked sum of one chunk's signals; an absent one counts 0, and a negative cosine too."""
    parts = {name: WEIGHTS[name] * max(value, 0.0) for name, value in signals.items() if value}
    return Scored(sum(parts.values()), parts)


def classic(found: Iterable[Hopped[Id]]) -> dict[Id, Scored]:
    """The classic score of every chunk; one that two hops found counts for the earlier."""
    kept: dict[Id, Hopped[Id]] = {}
    for chunk in sorted(found, key=lambda chunk: (chunk.hop, -chunk.rrf_score)):
        kept.setdefault(chunk.chunk_id, chunk)
    appearing = Counter(chunk.document_id for chunk in kept.values())
    return {chunk_id: _classic(chunk, single=appearing[chunk.document_id] == 1) for chunk_id, chunk in kept.items()}


def best_classic(first_place: float) -> float:
    """The classic score of a chunk of hop 1 that is first, with this RRF score, and alone of its document."""
    return first_place + HOP_1_BONUS + SINGLE_DOCUMENT_BONUS


def _classic(chunk: Hopped[Id], *, single: bool) -> Scored:
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


def ordered(scores: Mapping[Id, Scored], hops: Mapping[Id, int]) -> list[Id]:
    """The ids by score, then by hop, then by id."""
    return sorted(scores, key=lambda i: (-round(scores[i].score, 12), hops.get(i, 1), str(i)))
