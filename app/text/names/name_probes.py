"""Chooses what the texts that may contain a name have in common: words of the text index, and a part of the text.

Names are compared by words (`names.words`), which are not always words of the text index: that keeps 2024.07 whole, and
does not divide words at the same marks in every script. Only words are used by which every text with the name is
indexed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.text.names import gazetteer, names
from app.text.words import lexical

_INDEXED = re.compile("[a-z][a-z0-9]+|[a-z\u00df-\u024f\u0400-\u052f\u1100-\u11ff\u4e00-\u9fff]{2,}")
"""Latin and Cyrillic letters, Chinese characters, and Korean letters, into which syllables are decomposed."""
_WRITTEN = re.compile("[a-z][a-z0-9]+")
FARTHEST = 4
"""Positions of the index from a word to the next one, besides those of the parts of a word in mixed case."""
_NUMBER = re.compile("[0-9]{4,}")
"""Shorter ones may be groups of a number with thousands separators, which is indexed as a whole."""
_FOLDED = re.compile("[a-z0-9\u00df-\u024f\u0370-\u03ff\u0400-\u052f\u1100-\u11ff\u4e00-\u9fff]+")
"""Words that Postgres folds as `names.words` does."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What every text with one form of a name has.

    Attributes:
        words: Words of its index, in any order.
        numbers: Those of the words that the index has unless the text writes them as part of a number with dots.
        needle: A part of the folded text, in which all but letters a to z and digits may be spaces; empty if unknown.
    """

    words: tuple[str, ...]
    numbers: frozenset[str]
    needle: str

    def indexed(self, *, without: Collection[str]) -> str:
        """The words as text to analyse, without some numbers; empty if the index cannot tell."""
        found = " ".join(word for word in self.words if word not in self.numbers or word not in without)
        return lexical.index_text(found, "english")

    def near(self) -> str:
        """The words near each other, as a query of Postgres; empty if the index does not have all of them as written.

        Between two words the index may have the parts of a compound that is the first one or begins with the second.
        """
        if self.needle != f" {' '.join(self.words)} " or not all(map(_WRITTEN.fullmatch, self.words)):
            return ""
        pairs = itertools.pairwise(self.words)
        return "&".join(f"({_within(first, second, FARTHEST + len(first) // 2)})" for first, second in pairs)


def _within(first: str, second: str, distance: int) -> str:
    return "|".join(f"{first}<{words}>{second}" for words in range(1, distance + 1))


def probes(key: str, name: str) -> list[Probe]:
    """Returns a probe for each form in which a name, given with its key, is matched."""
    return [_probe(form) for form in dict.fromkeys(map(tuple, gazetteer.forms(key, name)))]


def _probe(words: Sequence[str]) -> Probe:
    numbers = frozenset(word for word in words if _NUMBER.fullmatch(word))
    return Probe(tuple(word for word in words if word in numbers or _is_indexed(word)), numbers, _needle(words))


def _is_indexed(word: str) -> bool:
    return len(word) < names.MAX_WORD_LENGTH and _INDEXED.fullmatch(word) is not None


def _needle(words: Sequence[str]) -> str:
    """The whole name if it is of letters a to z and digits, up to a word that is cut off; otherwise a word of it."""
    if not "".join(words).isascii():
        return max((word for word in words if _FOLDED.fullmatch(word) and word == word.lower()), key=len, default="")
    cut = next((place for place, word in enumerate(words) if len(word) >= names.MAX_WORD_LENGTH), None)
    return f" {' '.join(words)} " if cut is None else f" {' '.join(words[: cut + 1])}"
