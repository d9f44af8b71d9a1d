"""Splits a text into the words and compounds that the text index has lexemes for, with their offsets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from app.text.words import characters

_PART = re.compile(rf"(?:[^\W_{characters.UNSPACED}][{characters.MARK}]*+)++")
_TOKEN = re.compile(
    rf"(?P<unspaced>[{characters.UNSPACED}]+)"
    rf"|(?:[A-Za-z]\.){{2,}}[A-Za-z]?(?![\w@/-])"  # U.S.
    rf"|[A-Za-z](?:\+\+|\#)(?![\w#+])"  # C++, C#
    rf"|[^\W{characters.UNSPACED}][{characters.MARK}]*+"
    rf"(?:(?:[._@/\u2010\u2011-]|(?<=\d),(?=\d))?[^\W{characters.UNSPACED}][{characters.MARK}]*+)*+"
)
UNIT = re.compile(rf"[^{characters.MARK}][{characters.MARK}]*+|[{characters.MARK}]++")


class WordSpan(NamedTuple):
    """A word of a text: `text == source[start:end]`, in code points.

    In scripts without spaces it is a pair of characters or one of them (`unspaced`); such spans overlap. `token` is the
    number of its run of characters. A compound (`is_compound`) contains the words that follow it. A `single` character
    is not part of a sequence, because the pairs around it are.
    """

    text: str
    start: int
    end: int
    token: int
    unspaced: bool = False
    is_compound: bool = False
    single: bool = False

    @property
    def in_sequence(self) -> bool:
        """Whether the span is one of the consecutive words of a phrase."""
        return not self.is_compound and not self.single


def of(text: str) -> list[WordSpan]:
    """Returns the words of a text in order, in linear time. Of an unspaced run the pairs come before the singles."""
    found: list[WordSpan] = []
    for number, token in enumerate(_TOKEN.finditer(text)):
        start, run = token.start(), token[0]
        if token["unspaced"] is not None:
            found += _characters(run, start, number)
            continue
        parts = [part.span() for part in _PART.finditer(run)]
        if parts != [(0, len(run))]:
            found.append(WordSpan(run, start, token.end(), number, is_compound=True))
        found += [WordSpan(run[first:last], start + first, start + last, number) for first, last in parts]
    return found


def _characters(run: str, start: int, number: int) -> Iterator[WordSpan]:
    """The pairs and the single characters of a run, or its only character."""
    units = [(start + unit.start(), start + unit.end()) for unit in UNIT.finditer(run)]
    if len(units) == 1:
        yield WordSpan(run, *units[0], number, unspaced=True)
        return
    for (first, _middle), (_next, last) in itertools.pairwise(units):
        yield WordSpan(run[first - start : last - start], first, last, number, unspaced=True)
    for first, last in units:
        yield WordSpan(run[first - start : last - start], first, last, number, unspaced=True, single=True)
