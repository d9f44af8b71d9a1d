"""Finds the turns of a conversation: lines that begin with a speaker."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.text.structure import sentences

_SPEAKER = re.compile(
    r"^[ \t]*(?:(?:\[[^\]\n]{1,40}\][ \t]*)?[^\s:](?:[^:\n]|(?<=\d):(?=\d)){0,40}:"
    r"|[^<\n]{0,20}\d:\d\d\]?[ \t]{1,3}<[^\s<>]{0,2}[ \t]?[^\s<>]{1,40}>)[ \t]",
    re.MULTILINE,
)
"""A speaker and a colon, also behind a time: `[12:05] Ana:`, `12/03/2025, 18:22 - Ana:`; or a nick: `12:05 <@ana>`."""
_STAMP = re.compile(
    r"\W*(?:(?:time|date|zeit|datum|fecha|heure|hora|data)\s*:)?(?=[^\n]*\d)[\d\s_:.,/()\[\]TZAPMapm+-]+$"
)


def is_conversation(sample: str) -> bool:
    """Returns whether a text has more than two lines and at least half of them begin with a speaker."""
    count = sample.count("\n") + 1
    return count > 2 and 2 * len(_SPEAKER.findall(sample)) >= count


def begins_turn(text: str) -> bool:
    """Returns whether a text begins with a speaker."""
    return _SPEAKER.match(text) is not None


def turns(text: str, start: int, end: int) -> Iterator[sentences.Span]:
    """Yields the lines of a conversation. A line that has only a time is joined with the next line."""
    begin = finish = -1
    for first, last in sentences.lines(text, start, end):
        begin, finish = (first if begin < 0 else begin), last
        if last - first > 60 or _STAMP.match(text[first:last].lower()) is None:
            yield begin, finish
            begin = -1
    if begin >= 0:
        yield begin, finish
