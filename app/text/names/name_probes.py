"""Chooses the words by which the texts that may contain a name are found.

Names are compared by words (`names.words`), which are not always words of the text index: that keeps 2024.07 whole, and
does not divide words at the same marks in every script. Only words are used by which every text with the name is
indexed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.shapes import IndexText
from app.text.names import gazetteer, names
from app.text.names.names import Name
from app.text.words import lexical

ACCENTS_FOLDED, ACCENTS_KEPT = "english", "german"
# Latin and Cyrillic letters, Chinese characters, and Korean letters, into which syllables are decomposed.
_INDEXED = re.compile("[a-z][a-z0-9]+|[a-z\u00df-\u024f\u0400-\u052f\u1100-\u11ff\u4e00-\u9fff]{2,}")
_NUMBER = re.compile("[0-9]{4,}")
"""Shorter ones may be groups of a number with thousands separators, which is indexed as a whole."""
_SEARCHABLE = re.compile("[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Probe:
    """How the texts with a form of a name are found: by the words `indexed` of the text index, and in texts by `word`.

    `indexed` is empty if the index cannot tell, and `word` if any text may contain the name.
    """

    indexed: str
    word: str


@dataclass(frozen=True, slots=True)
class AllWords:
    """The words of a name of which all are in the index of every text with the name.

    That is not so for the `numbers` if texts contain them as parts of numbers with dots.
    """

    text: IndexText
    numbers: tuple[str, ...]


def probes(key: str, name: str) -> list[Probe]:
    """Returns how the texts with each form in which a name, given with its key, is matched are found."""
    return [_probe(form) for form in dict.fromkeys(map(tuple, gazetteer.forms(key, name)))]


def _probe(words: Sequence[str]) -> Probe:
    indexed = " ".join(word for word in words if _is_indexed(word))
    searchable = [word for word in words if _SEARCHABLE.fullmatch(word)]
    return Probe(lexical.index_text(indexed, ACCENTS_FOLDED), max(searchable, key=len, default=""))


def all_words(name: Name) -> AllWords:
    """Returns the words of a name by which it is found in the index; without any, its text is empty."""
    written = list(_written_words(name))
    numbers = tuple(word for word, _as_written in written if _NUMBER.fullmatch(word))
    found = [(word, text) for word, text in written if word in numbers or _is_indexed(word)]
    folded = lexical.index_text(" ".join(word for word, _text in found), ACCENTS_FOLDED)
    plain = lexical.index_text(" ".join(text.lower() for _word, text in found), ACCENTS_KEPT)
    return AllWords(IndexText(folded, plain), numbers)


def _written_words(name: Name) -> Iterator[tuple[str, str]]:
    """Yields the words of a name's key, each as it is written in the name."""
    spans = names.word_offsets(name.text)
    words = name.key.split(" ")
    if len(spans) == len(words):
        yield from ((word, name.text[start:end]) for word, (start, end) in zip(words, spans, strict=True))
    else:
        yield from ((word, word) for word in words)


def _is_indexed(word: str) -> bool:
    return len(word) < names.MAX_WORD_LENGTH and _INDEXED.fullmatch(word) is not None
