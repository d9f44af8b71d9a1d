"""Finds the headings of plain text: underlined lines, and lines in capitals between blank lines, as in manual pages."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_LENGTH = 80
"""Code points of the longest heading."""
MOST = 0.4
"""Share of the lines that are in capitals from which they are no headings."""
FIRST_LINES = 6
"""Visible lines of a text in which its title is searched."""
MAX_TITLE = 200
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_UNDERLINE = re.compile(r"([=\-~^*#+_])\1{2,}\s*")
_LEVELS = {"=": 1, "-": 2}
_CAPITALS = re.compile(r"(?![^\n]*(?:\t| {3}))[^\W_][^\n]*[^\W_)?]\s*")
_LETTER = re.compile(r"[^\W\d_]")
_NAME = re.compile(r"NAME|BEZEICHNUNG|NOM|NOMBRE|NOME|NAAM|NAVN|NAMN|NAZWA", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlainHeading:
    """A heading with the line below it if that underlines it; `start` and `end` are offsets in the text."""

    start: int
    end: int
    level: int
    title: str


def find(text: str) -> list[PlainHeading]:
    """Returns the headings of a text in order."""
    lines = list(_LINE.finditer(text))
    capitals = [_is_capitals(line[0]) for line in lines]
    use_capitals = sum(capitals) <= max(1, MOST * len(lines))
    return list(_headings(text, lines, capitals if use_capitals else [False] * len(lines)))


def _headings(text: str, lines: Sequence[re.Match[str]], capitals: Sequence[bool]) -> Iterator[PlainHeading]:
    for number, (line, below) in enumerate(itertools.pairwise(lines)):
        if line.start() and text[line.start() - 2 : line.start()] != "\n\n":
            continue
        is_touching = below.start() == line.end() + 1
        if is_touching and (level := _underline(line[0], below[0])):
            yield PlainHeading(line.start(), below.end(), level, line[0].strip())
        elif capitals[number] and not (is_touching and capitals[number + 1]):
            yield PlainHeading(line.start(), line.end(), 2, line[0].strip())


def _underline(line: str, below: str) -> int:
    """Returns the level of a line with another one below it; 0 if that does not underline it."""
    match = _UNDERLINE.fullmatch(below)
    length = len(line.strip())
    if match is None or length > MAX_LENGTH or line[:1].isspace() or not _LETTER.search(line):
        return 0
    return _LEVELS.get(match[1], 3) if length / 2 <= len(below.strip()) <= length + 2 else 0


def _is_capitals(line: str) -> bool:
    if len(line) > MAX_LENGTH or line != line.upper() or line == line.lower() or not _CAPITALS.fullmatch(line):
        return False
    letters = len(_LETTER.findall(line))
    return letters >= 3 and 10 * letters >= 7 * len("".join(line.split()))


def title(text: str) -> str:
    """Returns the first heading if it is near the beginning, of a manual page what it is about; else nothing."""
    heading = next(iter(find(text)), None)
    if heading is None or sum(1 for _ in _LINE.finditer(text, 0, heading.start)) >= FIRST_LINES:
        return ""
    below = _LINE.search(text, heading.end)
    if _NAME.fullmatch(heading.title) and below is not None:
        return " ".join(below[0].split())[:MAX_TITLE]
    return heading.title
