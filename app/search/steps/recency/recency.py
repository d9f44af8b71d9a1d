"""Raises hits from newer documents and lowers those from older ones, by how old each document is.

`score · (1 + w · (2 · decay − 1))^(1/p)`, with `decay = 0.5^(age / half-life)`: the exponential prior of time-based
language models (Li and Croft 2003), which multiplies the likelihood of a document. As a factor it raises nothing that
does not match, and it needs no common scale with the score. The factor is 1 + w for a new document, 1 for one whose
age is the half-life, and 1 − w for a very old one, so that a document without a date, which keeps its score, is
neither preferred nor put at a disadvantage. `p` is the exponent of the fusion, as for boosts (see `blending`).
"""

from __future__ import annotations

from app.kinds import FusionUsed
from app.query import fused_scores


def decay(age_days: float, *, half_life_days: float) -> float:
    """Returns what is left of 1 at an age, 0 to 1; a date in the future counts as the present."""
    decayed: float = 0.5 ** (max(age_days, 0.0) / half_life_days)
    return decayed


def factor(decayed: float, *, weight: float, fusion: FusionUsed) -> float:
    """Returns the factor of a score, 1 − weight to 1 + weight, or the p-th root of that."""
    raised: float = (1 + weight * (2 * decayed - 1)) ** (1 / fused_scores.EXPONENTS[fusion])
    return raised


def rescore(score: float, by: float) -> float:
    """Returns a score times a factor; one below 0, as some re-rankers give, is divided by it."""
    return score * by if score >= 0 or by == 0 else score / by
