"""Finds a text's headings, fences, tables, lists and paragraphs, in linear time and without a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.concurrency import interruption
from app.text.structure import plain_headings

Kind = Literal["heading", "fence", "table", "list", "paragraph"]
MAX_HEADING = 300  # code points; a longer "heading" is text

_LINE = re.compile(r"[^\n]+")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}+(?!.*`)|~{3,}+)")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`")
_NOT_SETEXT = re.compile(r" {0,3}(?:[-*+>|]|\d{1,9}[.)][ \t])|\s*$| {4}")


@dataclass(frozen=True, slots=True)
class Block:
    """A run of whole lines of one kind. `level` and `title` belong to headings."""

    kind: Kind
    start: int
    end: int
    level: int = 0
    title: str = ""


def title(text: str) -> str | None:
    """Returns the text of the first level-one heading outside code, or None."""
    if not re.search(r"^ {0,3}(?:#[ \t]|=)", text, re.MULTILINE):
        return None
    return next((block.title for block in blocks(text) if block.level == 1 and block.title), None)


def blocks(text: str, *, markdown: bool = True) -> list[Block]:
    """Returns the blocks of a text in order; blank lines between them belong to none.

    Plain text has headings (see `plain_headings`) and paragraphs only. In Markdown, a heading is ATX or one underlined
    line; an unclosed fence extends to the end.
    """
    return list(_Scanner(text).run() if markdown else _plain(text))


def _plain(text: str) -> Iterator[Block]:
    """The headings of a plain text and the paragraphs between them."""
    place = 0
    for heading in plain_headings.find(text):
        yield from _paragraphs(text, place, heading.start)
        yield Block("heading", heading.start, heading.end, heading.level, heading.title)
        place = heading.end
    yield from _paragraphs(text, place, len(text))


def _paragraphs(text: str, begin: int, finish: int) -> Iterator[Block]:
    start = end = -1
    for line in _LINE.finditer(text, begin, finish):
        if not line[0].strip():
            continue
        if start >= 0 and line.start() != end + 1:
            yield Block("paragraph", start, end)
            start = -1
        start, end = (line.start() if start < 0 else start), line.end()
    if start >= 0:
        yield Block("paragraph", start, end)


class _Scanner:
    """Scans line by line and keeps the open block."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._kind: Kind | None = None
        self._start = self._end = 0
        self._fence = ""
        self._lines = 0

    def run(self) -> Iterator[Block]:
        for match in _LINE.finditer(self._text):
            line = match[0]
            if not line.strip():
                continue
            if self._fence:
                self._inside_fence(line, match.end())
            else:
                yield from self._step(line, match.start(), match.end())
        yield from self._close()

    def _step(self, line: str, start: int, end: int) -> Iterator[Block]:
        heading = _atx(line)
        if heading:
            yield from self._close()
            yield Block("heading", start, end, *heading)
        elif self._is_underline(line, start):
            yield Block("heading", self._start, end, *self._setext(line))
            self._kind = None
        elif self._continues(line, start):
            self._end, self._lines = end, self._lines + 1
        else:
            yield from self._close()
            self._open(line, start, end)

    def _open(self, line: str, start: int, end: int) -> None:
        fence = _FENCE.match(line)
        self._fence = fence[1] if fence else ""
        self._kind = "fence" if fence else _kind(line)
        self._start, self._end, self._lines = start, end, 1

    def _close(self) -> Iterator[Block]:
        interruption.point()
        if self._kind:
            yield Block(self._kind, self._start, self._end)
        self._kind = None

    def _inside_fence(self, line: str, end: int) -> None:
        self._end = end
        mark = line.strip()
        if len(mark) >= len(self._fence) and not mark.strip(self._fence[0]):
            self._fence = ""

    def _continues(self, line: str, start: int) -> bool:
        """Returns whether the line continues the open block."""
        if self._kind in (None, "fence") or _FENCE.match(line):
            return False
        touching = start == self._end + 1
        if self._kind == "list":
            return line[0] in " \t" or _kind(line) == "list" or (touching and _kind(line) == "paragraph")
        return touching and _kind(line) == self._kind

    def _is_underline(self, line: str, start: int) -> bool:
        if self._kind != "paragraph" or self._lines != 1 or start != self._end + 1 or not _SETEXT.match(line):
            return False
        return self._end - self._start <= MAX_HEADING and not _NOT_SETEXT.match(self._text, self._start)

    def _setext(self, line: str) -> tuple[int, str]:
        words = self._text[self._start : self._end]
        return (1 if "=" in line else 2), _words_of(words) or words.strip()


def _atx(line: str) -> tuple[int, str] | None:
    if "#" not in line[:4] or len(line) > MAX_HEADING:
        return None
    match = _ATX.match(line)
    words = _words_of(re.sub(r"(?:^|[ \t])#+$", "", (match[2] or "").strip())) if match else ""
    return (len(match[1]), words) if match and words else None


def _kind(line: str) -> Kind:
    if line.lstrip().startswith("|"):
        return "table"
    return "list" if _ITEM.match(line) else "paragraph"


def _words_of(inline: str) -> str:
    """Returns the words of a heading without links, emphasis and code marks."""
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", inline)).split())
