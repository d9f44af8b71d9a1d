"""Which hits say something that the ones before them do not?

Maximal marginal relevance (Carbonell and Goldstein 1998): greedy, `λ · score − (1 − λ) · largest similarity to the
chosen`. The caller says how alike two hits are: the cosine of their vectors, or Jaccard's on their sets of words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LAMBDA = 0.7
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where it stood among those given, from 0; its largest similarity to those chosen before, and what that leaves."""

    place: int
    value: float
    nearest: float


def words(text: str) -> frozenset[str]:
    """The text's set of words, whatever their case."""
    return frozenset(_WORD.findall(text.casefold()))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared words over all words, 0 to 1; two texts without words are not alike."""
    return len(one & other) / len(one | other) if one or other else 0.0


def mmr(
    scores: Sequence[float], alike: Callable[[int, int], float], *, limit: int, trade: float = LAMBDA
) -> list[Chosen]:
    """Up to `limit` hits in the order of their selection; `trade` is λ, 1 is relevance alone.

    `alike` tells the similarity of two places, at most 1; a negative one counts 0. Of equals the earlier is chosen.
    """
    nearest = [0.0] * len(scores)
    left = list(range(len(scores)))
    chosen: list[Chosen] = []

    def worth(place: int) -> float:
        return trade * scores[place] - (1 - trade) * nearest[place]

    while left and len(chosen) < limit:
        best = max(left, key=lambda place: (round(worth(place), 12), -place))
        chosen.append(Chosen(best, worth(best), nearest[best]))
        left.remove(best)
        for place in left:
            nearest[place] = max(nearest[place], alike(best, place))
    return chosen
