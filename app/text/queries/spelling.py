"""Finds stored words that resemble a misspelled or shortened word.

The stored words are stems: "timetable" is stored as "timet". A word is therefore compared as a whole, and its prefixes
with stems that are shorter than the word.
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
    """Returns up to five stored words: completions of `word`, similar words, then stems similar to a prefix of it.

    Similar is a ratio (rapidfuzz, 0 to 100) of at least 75, for stems 80. A stem has at least four letters and half the
    length of the word.
    """
    if len(word) > MAX_WORD_LENGTH:
        return []
    completions = sorted((candidate for candidate in stored if candidate.startswith(word)), key=len)[:MAX_RESULTS]
    similar = process.extract(word, stored, scorer=fuzz.ratio, score_cutoff=MIN_RATIO, limit=MAX_RESULTS)
    found = [*completions, *(candidate for candidate, _score, _index in similar), *_stems(word, stored)]
    return list(dict.fromkeys(found))[:MAX_RESULTS]


def _stems(word: str, stored: Sequence[str]) -> list[str]:
    """Returns stored stems that the word may be a form of, by similarity, then by length, longest first."""
    shorter = [candidate for candidate in stored if max(MIN_STEM_LENGTH, len(word) / 2) <= len(candidate) < len(word)]
    scores = {candidate: fuzz.ratio(word[: len(candidate)], candidate) for candidate in shorter}
    close = [candidate for candidate in shorter if scores[candidate] >= MIN_STEM_RATIO]
    return sorted(close, key=lambda candidate: (-scores[candidate], -len(candidate), candidate))
