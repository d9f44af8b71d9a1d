"""Which hits say something that the ones before them do not?

Maximal marginal relevance (Carbonell and Goldstein 1998): greedy, `λ · score − (1 − λ) · largest similarity to the
chosen`, the similarity being Jaccard's on the sets of words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared words over all words, 0 to 1; two texts without words are not alike."""
    return len(one & other) / len(one | other) if one or other else 0.0


def mmr(scores: Sequence[float], texts: Sequence[str], *, trade: float, limit: int) -> list[int]:
    """The places of up to `limit` hits in the order of their selection; `trade` is λ, 1 is relevance alone."""
    told = [frozenset(_WORD.findall(text.casefold())) for text in texts]
    nearest = [0.0] * len(scores)
    left = list(range(len(scores)))
    chosen: list[int] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda place: (trade * scores[place] - (1 - trade) * nearest[place], -place))
        chosen.append(best)
        left.remove(best)
        for place in left:
            nearest[place] = max(nearest[place], jaccard(told[best], told[place]))
    return chosen
