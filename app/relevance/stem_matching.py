"""Decides whether a lexeme may be the stem of a word, without the database."""

from __future__ import annotations

from functools import lru_cache

from app.text.names import names

SHORTEST = 4
"""Least number of letters in a stored lexeme that may be the stem of a longer word."""


def may_be_stem(folded: str, word: str) -> bool:
    """Returns whether a word may have this stem. The last letter of a stem may differ, as in `deliveri`.

    `folded` is a lexeme folded by `fold`. `word` has no accents, like the words of `names.words`.
    """
    begins = bool(folded) and word.startswith(folded[:-1] or folded)
    return begins and len(word) <= max(2 * len(folded), len(folded) + 2)


@lru_cache(maxsize=4_096)
def fold(lexeme: str) -> str:
    """Returns a lexeme without accents and punctuation."""
    return "".join(names.words(lexeme))
