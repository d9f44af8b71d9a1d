"""Which stored words may a mistyped or shortened word mean?"""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz import fuzz, process

MOST = 5
CLOSE_ENOUGH = 75
LONGEST = 64


def nearest(word: str, stored: Sequence[str]) -> list[str]:
    """Up to five stored words: first those that it begins, then those spelled like it (ratio 75 of 100)."""
    if len(word) > LONGEST:
        return []
    beginnings = sorted((known for known in stored if known.startswith(word)), key=len)[:MOST]
    alike = process.extract(word, stored, scorer=fuzz.ratio, score_cutoff=CLOSE_ENOUGH, limit=MOST)
    return list(dict.fromkeys([*beginnings, *(known for known, _score, _place in alike)]))[:MOST]
