"""Selects hits by maximal marginal relevance, so that each adds something to those above it.

Greedy, `λ · score − (1 − λ) · largest similarity to the selected` (Carbonell and Goldstein 1998). The similarity of two
hits is the cosine of their vectors, or the Jaccard index of their sets of words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

DEFAULT_LAMBDA = 0.7
MAX_WORDS = 500
"""Words of a text that are compared, from its beginning."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Selected:
    """A selected hit: its place among the input, from 0, its marginal relevance, and its largest similarity to those
    selected before it."""

    position: int
    value: float
    nearest: float


class Similarity(Protocol):
    """The similarity of the hits at two places, at most 1; a negative value counts as 0."""

    def __call__(self, one: int, other: int, /) -> float: ...


def words(text: str) -> frozenset[str]:
    """The set of the first MOST_WORDS words of a text, case-folded."""
    found = itertools.islice(_WORD.finditer(text), MAX_WORDS)
    return frozenset(match[0].casefold() for match in found)


def bit_sets(word_sets: Iterable[frozenset[str]]) -> list[int]:
    """Each set of words as an integer with one bit a word, so that comparing two sets needs no hashing."""
    bits: dict[str, int] = {}
    return [_bit_set(held, bits) for held in word_sets]


def _bit_set(held: frozenset[str], bits: dict[str, int]) -> int:
    places = [bits.setdefault(word, len(bits)) for word in held]
    whole = bytearray(max(places, default=0) // 8 + 1)
    for place in places:
        whole[place // 8] |= 1 << place % 8
    return int.from_bytes(whole, "little")


def jaccard(one: int, other: int) -> float:
    """The Jaccard index of two bit sets, 0 to 1: shared words over all words; 0 where both are empty."""
    return (one & other).bit_count() / whole.bit_count() if (whole := one | other) else 0.0


def select(scores: Sequence[float], alike: Similarity, *, limit: int, trade: float = DEFAULT_LAMBDA) -> list[Selected]:
    """Up to `limit` hits in the order of their selection; `trade` is λ, and 1 is relevance alone.

    Of hits with equal marginal relevance the earlier is selected. Compares each selected hit with each that is left.
    """
    nearest = [0.0] * len(scores)
    left = list(range(len(scores)))
    chosen: list[Selected] = []

    def worth(place: int) -> float:
        return trade * scores[place] - (1 - trade) * nearest[place]

    while left and len(chosen) < limit:
        best = max(left, key=lambda place: (round(worth(place), 12), -place))
        chosen.append(Selected(best, worth(best), nearest[best]))
        left.remove(best)
        for place in left if len(chosen) < limit else ():
            nearest[place] = max(nearest[place], alike(best, place))
    return chosen
