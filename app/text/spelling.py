"""Finds stored words that resemble a misspelled or shortened word.

What is stored are stems: "timetable" stands there as "timet". So a word is compared whole, and its beginning with stems
that are shorter than it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz import fuzz, process

MAX_RESULTS = 5
MIN_RATIO = 75
MAX_WORD_LENGTH = 64
MIN_STEM_LENGTH = 4
MIN_STEM_RATIO = 80


def nearest(word: str, stored: Sequence[str]) -> list[str]:
    """Up to five stored words: those that it begins, those spelled like it, those whose stem its beginning resembles.

    Spelled alike is a ratio of 75 of 100, for beginnings 80. A stem has four letters or more, and half of the word's.
    """
    if len(word) > MAX_WORD_LENGTH:
        return []
    beginnings = sorted((known for known in stored if known.startswith(word)), key=len)[:MAX_RESULTS]
    alike = process.extract(word, stored, scorer=fuzz.ratio, score_cutoff=MIN_RATIO, limit=MAX_RESULTS)
    found = [*beginnings, *(known for known, _score, _place in alike), *_stems(word, stored)]
    return list(dict.fromkeys(found))[:MAX_RESULTS]


def _stems(word: str, stored: Sequence[str]) -> list[str]:
    """Stored stems that the word may be a form of, the likeliest first, and of those the longest."""
    shorter = [known for known in stored if max(MIN_STEM_LENGTH, len(word) / 2) <= len(known) < len(word)]
    scores = {known: fuzz.ratio(word[: len(known)], known) for known in shorter}
    likely = [known for known in shorter if scores[known] >= MIN_STEM_RATIO]
    return sorted(likely, key=lambda known: (-scores[known], -len(known), known))
