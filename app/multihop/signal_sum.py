"""Scores the chunks of several hops by a weighted sum of their signals and by the words of the question that they add.

`Σ weight · signal` over the table of `query.signals`, each signal relative to the original question but `asked`, plus
`covers`: the words of the question that a chunk adds to those of the chunks above it, because the answer to a multi-hop
question is spread over passages. Limited signals lift no chunk above the best one without them: a link follows the
passage that it starts from. Weights and alternatives: docs/decisions, 0003, 0016 and 0021.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping

from app.query import signals
from app.search.merge import Id, Scored

COVERAGE_WEIGHT = 2.0
"""Weight of the question's words that a chunk adds (docs/decisions/0003-multihop.md)."""
COVERAGE_POOL = 60
"""Number of chunks, the best by their sum, whose words are compared."""
TIE = 1e-9
"""By how much less the largest sum with limited signals is than the best one without."""
_ASKED = "asked"
LARGEST_SUM = sum(one.weight * one.largest for one in signals.SIGNALS if not one.is_limited and one.name != _ASKED)
"""The sum if every signal but `asked` has its largest value; limited signals raise none above it."""


def of(values: Mapping[str, float]) -> Scored:
    """Returns the weighted sum of the signals of a chunk; absent and negative values count 0."""
    parts = {name: signals.WEIGHTS[name] * value for name, value in values.items() if value > 0.0}
    return Scored(sum(parts.values()), parts)


def largest(*, with_questions: bool) -> float:
    """Returns the largest score, with all words of the question added; `asked` counts only with questions."""
    return LARGEST_SUM + COVERAGE_WEIGHT + (signals.WEIGHTS[_ASKED] if with_questions else 0.0)


def with_limit(
    scores: Mapping[Id, Scored], chunk_words: Mapping[Id, Collection[str]], idf: Mapping[str, float]
) -> dict[Id, Scored]:
    """Returns the scores with limited signals so small that no chunk is above the best one without them.

    Chunks are compared with the words of the question that they contain.
    """
    limited, given = dict(scores), {chunk: _limit(scored) for chunk, scored in scores.items()}
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
            parts = {
                name: value * (share if name in signals.LIMITED else 1.0) for name, value in scores[chunk].parts.items()
            }
            kept = {name: value for name, value in parts.items() if value or name not in signals.LIMITED}
            limited[chunk] = Scored(scores[chunk].score - amount * (1.0 - share), kept)
    return limited


def _limit(scored: Scored) -> float:
    return sum(scored.parts.get(name, 0.0) for name in signals.LIMITED)


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
