"""Selects hits by maximal marginal relevance.

Greedily maximises `λ · score − (1 − λ) · largest similarity to the selected` (Carbonell and Goldstein 1998). The
similarity of two hits is the cosine of their vectors, or the Jaccard index of their sets of words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

MAX_WORDS = 500
"""Largest number of words that are compared, from the beginning of a text."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Selected:
    """A selected hit: its position in the input, from 0, its marginal relevance, and its largest similarity to the hits
    selected before it."""

    position: int
    value: float
    nearest: float


Similarity = Callable[[int, int], float]
"""Returns the similarity of the hits at two positions, at most 1; a negative value counts as 0."""


def words(text: str) -> frozenset[str]:
    """Returns the set of the first MAX_WORDS words of a text, case-folded."""
    found = itertools.islice(_WORD.finditer(text), MAX_WORDS)
    return frozenset(match[0].casefold() for match in found)


def bit_sets(word_sets: Iterable[frozenset[str]]) -> list[int]:
    """Returns each set of words as an integer with one bit per word, so that comparisons need no hashing."""
    bits: dict[str, int] = {}
    return [_bit_set(word_set, bits) for word_set in word_sets]


def _bit_set(word_set: frozenset[str], bits: dict[str, int]) -> int:
    positions = [bits.setdefault(word, len(bits)) for word in word_set]
    whole = bytearray(max(positions, default=0) // 8 + 1)
    for bit in positions:
        whole[bit // 8] |= 1 << bit % 8
    return int.from_bytes(whole, "little")


def jaccard(one: int, other: int) -> float:
    """Returns the Jaccard index of two bit sets, 0 to 1; 0 if both are empty."""
    return (one & other).bit_count() / whole.bit_count() if (whole := one | other) else 0.0


def select(scores: Sequence[float], similarity: Similarity, *, limit: int, trade: float) -> list[Selected]:
    """Returns up to `limit` hits in the order of their selection; `trade` is λ, 1 for relevance alone.

    Of hits with equal marginal relevance, it selects the first. It compares each selected hit with all remaining hits.
    """
    nearest = [0.0] * len(scores)
    remaining = list(range(len(scores)))
    chosen: list[Selected] = []

    def marginal_relevance(position: int) -> float:
        return trade * scores[position] - (1 - trade) * nearest[position]

    while remaining and len(chosen) < limit:
        best = max(remaining, key=lambda position: (round(marginal_relevance(position), 12), -position))
        chosen.append(Selected(best, marginal_relevance(best), nearest[best]))
        remaining.remove(best)
        for position in remaining if len(chosen) < limit else ():
            nearest[position] = max(nearest[position], similarity(best, position))
    return chosen
