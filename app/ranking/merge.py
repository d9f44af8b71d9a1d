"""Scores the chunks of several hops or lists (RRF, RRF with bonuses, or a sum of signals) and orders them.

classic: `rrf_score + 0.0005 if hop 1 + 0.0002 if its document appears once`. linked: a sum of signals, each
relative to the original question but `asked`,
`0.75 fused + cos + 0.5 expanded + 0.5 named + 1.5 linked + shared + 2 rare + 3 identifier + asked`, plus the words of
the question that a chunk adds to those of the chunks above it, because the answer to a multi-hop question is spread
over passages. `rare` and `identifier` lift no chunk above the best one without them: a link follows the passage that it
starts from.
rrf: `Σ weight / (k + rank)`, ranks from 1, 0 for a list without the chunk (Cormack et al. 2009).
Ties go to the earlier hop, then to the id, so the order is total and independent of the input order.
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
    "fused": 0.75,
    "cos": 1.0,
    "expanded": 0.5,
    "asked": 1.0,
    "named": 0.5,
    "linked": 1.5,
    "shared": 1.0,
    "rare": 2.0,
    "identifier": 3.0,
}
"""Weights of the linked sum, set manually (docs/decisions, 0003, 0016 and 0021)."""
MAX_LINKED, MAX_SHARED = 1.1813, 0.5907
"""The largest values of linked and shared: 2 / (1 + ln 2) and 1 / (1 + ln 2)."""
COVERAGE_WEIGHT = 2.0
"""Weight of the question's words that a chunk adds (docs/decisions/0003-multihop.md)."""
LIMITED = ("rare", "identifier")
"""Signals that lift no chunk above the best one without them: a link follows the passage that it starts from."""
TIE = 1e-9
"""By how much less the largest sum with these is than the best one without."""
COVERAGE_POOL = 60
"""Number of chunks, the best by their sum, whose words are compared."""
MAX_SUM = sum(WEIGHTS[name] for name in ("fused", "cos", "expanded", "named")) + (
    WEIGHTS["linked"] * MAX_LINKED + WEIGHTS["shared"] * MAX_SHARED
)
"""The linked sum if every signal but `asked` has its largest value; `rare` and `identifier` raise none above it."""
MAX_LINKED_SCORE = MAX_SUM + COVERAGE_WEIGHT
"""The same with all words of the question added; scores are divided by it."""

Id = TypeVar("Id", UUID, str)
"""The id of a chunk is a UUID; hits of other systems have strings."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The combined score of a chunk and its parts, which add up to it."""

    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class HopHit(Generic[Id]):
    """A chunk in the results of a hop, with its RRF score there."""

    chunk_id: Id
    document_id: Id
    hop: int
    rrf_score: float


def linked(signals: Mapping[str, float]) -> Scored:
    """Returns the linked sum of the signals of a chunk; absent and negative values count 0."""
    parts = {name: WEIGHTS[name] * max(value, 0.0) for name, value in signals.items() if value}
    return Scored(sum(parts.values()), parts)


def with_limited_links(
    scores: Mapping[Id, Scored], chunk_words: Mapping[Id, Collection[str]], idf: Mapping[str, float]
) -> dict[Id, Scored]:
    """Returns the scores with `rare` and `identifier` so small that no chunk is above the best one without them.

    Chunks are compared with the words of the question that they contain.
    """
    limited, given = dict(scores), {chunk: _limited(scored) for chunk, scored in scores.items()}
    if not any(given.values()):
        return limited
    weights, total = _word_weights(idf)
    without = {chunk: scored.score - given[chunk] for chunk, scored in scores.items()}
    for chunk in chunk_words.keys() & scores.keys():
        without[chunk] += COVERAGE_WEIGHT * math.fsum(weights.get(word, 0.0) for word in chunk_words[chunk]) / total
    best = max(without.values())
    for chunk, amount in given.items():
        if amount:
            share = min(1.0, max(0.0, best - without[chunk] - TIE) / amount)
            parts = {name: value * (share if name in LIMITED else 1.0) for name, value in scores[chunk].parts.items()}
            kept = {name: value for name, value in parts.items() if value or name not in LIMITED}
            limited[chunk] = Scored(scores[chunk].score - amount * (1.0 - share), kept)
    return limited


def _limited(scored: Scored) -> float:
    return sum(scored.parts.get(name, 0.0) for name in LIMITED)


def with_coverage(
    scores: Mapping[Id, Scored],
    chunk_words: Mapping[Id, Collection[str]],
    idf: Mapping[str, float],
    hops: Mapping[Id, int],
) -> dict[Id, Scored]:
    """Returns the scores plus the weight of the question's words that each chunk adds to the chunks above it.

    Each rank is filled by the chunk with the largest sum of its own score and `COVERAGE_WEIGHT · Σ idf² / Σ idf²`;
    the first sum is over the words that it contains and no chunk above does, the second over all words (`idf`).
    `chunk_words` has the words of the chunks that are compared. This is greedy maximum coverage (Nemhauser, Wolsey and
    Fisher 1978) with lazy evaluation (Minoux 1978): gains only shrink, so a chunk is scored again only at the top.
    """
    weights, total = _word_weights(idf)
    missing, covered = set(weights), dict(scores)

    def gain_of(chunk: Id) -> float:
        return COVERAGE_WEIGHT * math.fsum(weights[word] for word in missing.intersection(chunk_words[chunk])) / total

    def entry(chunk: Id) -> tuple[float, int, Id]:
        return (-round(scores[chunk].score + gain_of(chunk), 12), hops.get(chunk, 1), chunk)

    heap = [entry(chunk) for chunk in chunk_words if chunk in scores]
    heapq.heapify(heap)
    while heap:
        chunk = heap[0][-1]
        if (now := entry(chunk)) != heap[0]:
            heapq.heapreplace(heap, now)
            continue
        heapq.heappop(heap)
        if gain := gain_of(chunk):
            covered[chunk] = Scored(scores[chunk].score + gain, {**scores[chunk].parts, "covers": gain})
            missing.difference_update(chunk_words[chunk])
    return covered


def _word_weights(idf: Mapping[str, float]) -> tuple[dict[str, float], float]:
    """The weights of the question's words and their sum, 1 without words."""
    weights = {word: value * value for word, value in idf.items()}
    return weights, math.fsum(weights.values()) or 1.0


def classic(hits: Iterable[HopHit[Id]]) -> dict[Id, Scored]:
    """Returns the classic score of every chunk; a chunk of several hops counts for the earliest."""
    kept: dict[Id, HopHit[Id]] = {}
    for hit in sorted(hits, key=lambda hit: (hit.hop, -hit.rrf_score)):
        kept.setdefault(hit.chunk_id, hit)
    appearing = Counter(chunk.document_id for chunk in kept.values())
    return {chunk_id: _classic(chunk, single=appearing[chunk.document_id] == 1) for chunk_id, chunk in kept.items()}


def max_classic(rrf_score: float) -> float:
    """Returns the largest classic score: hop 1, this RRF score, and the only chunk of its document."""
    return rrf_score + HOP_1_BONUS + SINGLE_DOCUMENT_BONUS


def _classic(chunk: HopHit[Id], *, single: bool) -> Scored:
    parts = {"rrf": chunk.rrf_score}
    if chunk.hop == 1:
        parts["hop_1"] = HOP_1_BONUS
    if single:
        parts["single_document"] = SINGLE_DOCUMENT_BONUS
    return Scored(sum(parts.values()), parts)


def rrf(lists: Sequence[tuple[str, float, Sequence[Id]]], *, k: int) -> dict[Id, Scored]:
    """Returns the reciprocal rank fusion of (name, weight, ids) lists; the first rank of an id in a list counts."""
    parts: dict[Id, dict[str, float]] = {}
    for name, weight, ids in lists:
        for rank, chunk_id in enumerate(dict.fromkeys(ids), 1):
            shares = parts.setdefault(chunk_id, {})
            shares[name] = shares.get(name, 0.0) + weight / (k + rank)
    return {chunk_id: Scored(sum(shares.values()), shares) for chunk_id, shares in parts.items()}


def order(scores: Mapping[Id, Scored], hops: Mapping[Id, int]) -> list[Id]:
    """Returns the ids by score, then by hop, then by id."""
    return sorted(scores, key=lambda i: (-round(scores[i].score, 12), hops.get(i, 1), i))
