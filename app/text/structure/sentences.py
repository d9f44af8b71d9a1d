"""Splits prose into sentences and lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.text.words import characters

_STOPS = characters.FULL_STOPS
_END = re.compile(  # begins with a set of characters, because that is found fastest
    rf"[.!?…{_STOPS}](?:"
    r"(?<=[.!?…])(?<![.!?…].)[.!?…]*+[\"'”’»)\]]*+(?=\s)"  # Latin: closing marks, then white space
    rf"|(?<=[{_STOPS}])(?<![{_STOPS}].)[{_STOPS}]*+[」』”’）]*+)"  # no space needed
)
_IN_WORD = re.compile(r"[A-Za-z](?=[A-Za-z])")
_STRETCH = 100_000
_NEXT = re.compile(r"\s*+[\"'“‘«(\[¿¡]?(.)", re.DOTALL)
_LINE = re.compile(r"[^\n]+")
_NUMBERING = re.compile(r"(?:\A|\n)[ \t]*(?:(?:\d{1,2}\.)+|[ivx]{2,6}\.|[IVX]{2,6}\.)$")
_NEXT_ITEM = re.compile(r"[ \t]*\n[ \t]*(?:[a-z]|[ivx]{2,6})[.)][ \t]")
_LAST_WORD = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]*\.$")
_ABBREVIATION = re.compile(
    r"(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|no|nr|fig|eq|inc|ltd|co|e\.g|i\.e|z\.b|u\.a|cf|al|approx"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|[a-z])\.",
    re.IGNORECASE,
)

Span = tuple[int, int]


def spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Yields the sentences of `text[start:end]` in order, as offsets into `text`, without surrounding white space."""
    begin = start
    for match in _ends(text, start, end):
        if _is_boundary(text, match, end):
            yield from trim(text, begin, match.end())
            begin = match.end()
    yield from trim(text, begin, end)


def _ends(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yields the possible sentence ends. Searches in stretches, because a search holds the interpreter lock."""
    while start < end:
        inside = _IN_WORD.search(text, start + _STRETCH, end) if end - start > _STRETCH else None
        stop = inside.end() if inside else end
        yield from _END.finditer(text, start, stop)
        start = stop


def lines(text: str, start: int, end: int) -> Iterator[Span]:
    """Yields the lines of `text[start:end]` that are not white space, as offsets into `text`."""
    for match in _LINE.finditer(text, start, end):
        yield from trim(text, match.start(), match.end())


def trim(text: str, start: int, end: int) -> Iterator[Span]:
    """Yields the span without surrounding white space, or nothing if it is all white space."""
    piece = text[start:end]
    kept = piece.strip()
    if kept:
        begin = start + len(piece) - len(piece.lstrip())
        yield begin, begin + len(kept)


def _is_boundary(text: str, match: re.Match[str], end: int) -> bool:
    following = _NEXT.match(text, match.end(), end)
    if following is None or match[0][0] in _STOPS:
        return True
    detached = match.start() > 0 and text[match.start() - 1].isspace()  # "a wing in a slipstream . the next"
    if following[1].islower() and not detached and not _NEXT_ITEM.match(text, match.end(), end):
        return False
    before = text[max(0, match.start() - 12) : match.end()] if match[0] == "." else ""
    last = _LAST_WORD.search(before)
    return (last is None or not _ABBREVIATION.fullmatch(last[0])) and not _NUMBERING.search(before)
