"""Finds the texts that contain one of some names: by words of each name in the text index, and then by reading.

Names are compared by words (`names.words`). These are not always words of the text index: the index keeps 2024.07
whole, and divides words at other marks in some scripts. Only words that the index has for every text with the name are
used.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from app.text.names import gazetteer, names
from app.text.words import tsvector_text

_INDEXED = re.compile("[a-z][a-z0-9]+|[a-z\u00df-\u024f\u0400-\u052f\u1100-\u11ff\u4e00-\u9fff]{2,}")
"""Latin and Cyrillic letters, Chinese characters, and Korean letters (syllables are decomposed into letters)."""
_NUMBER = re.compile("[0-9]{4,}")
"""Fewer digits may be a group in a number with thousands separators, which is indexed as a whole."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One form of a name, and its words that every index with folded accents has for every text with the form.

    The `numbers` are an exception if texts contain them as parts of numbers with dots.
    """

    form: tuple[str, ...]
    words: tuple[str, ...]
    numbers: frozenset[str]

    def indexed(self, *, without: Collection[str]) -> str:
        """The words as text to analyse, without some numbers; empty if the index cannot tell."""
        found = " ".join(word for word in self.words if word not in self.numbers or word not in without)
        return tsvector_text.index_text(found, "english")


def probes(key: str, name: str) -> list[Probe]:
    """Returns a probe for each form of a name, given with its key."""
    found = []
    for form in dict.fromkeys(map(tuple, gazetteer.forms(key, name))):
        numbers = frozenset(word for word in form if _NUMBER.fullmatch(word))
        indexed = {word for word in form if len(word) < names.MAX_WORD_LENGTH and _INDEXED.fullmatch(word)}
        found.append(Probe(form, tuple(word for word in form if word in numbers | indexed), numbers))
    return found


class FormFinder:
    """Finds texts with forms of names. Each form is searched in texts with smaller numbers than its own."""

    def __init__(self, forms: Iterable[tuple[Sequence[str], int]]) -> None:
        self._by_word: dict[str, int] = {}
        self._by_pair: dict[tuple[str, str], list[tuple[list[str], int]]] = {}
        for form, before in forms:
            if len(form) == 1:
                self._by_word[form[0]] = max(before, self._by_word.get(form[0], 0))
            else:
                self._by_pair.setdefault((form[0], form[1]), []).append((list(form[2:]), before))

    def among(self, texts: Iterable[tuple[int, str]]) -> list[int]:
        """Returns the numbers of the numbered texts that contain a form."""
        return [number for number, text in texts if self._is_in(names.words(text), number)]

    def _is_in(self, words: Sequence[str], number: int) -> bool:
        if any(self._by_word[word] > number for word in self._by_word.keys() & words):
            return True
        for place, pair in enumerate(itertools.pairwise(words), start=2):
            for rest, before in self._by_pair.get(pair, ()):
                if before > number and words[place : place + len(rest)] == rest:
                    return True
        return False
