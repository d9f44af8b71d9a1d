"""Finds the headings, fences, tables, lists and paragraphs of a text in linear time, and its title and sections."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.concurrency import offload

Kind = Literal["heading", "fence", "table", "list", "paragraph"]
MAX_HEADING = 300  # code points; a longer "heading" is text

_LINE = re.compile(r"[^\n]+")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_HEADING_MARK = re.compile(r"^ {0,3}(?:#{1,6}[ \t]|=|-|<h[1-6]\b)", re.M | re.I)
_HTML = re.compile(r" {0,3}<h([1-6])\b[^<>\n]*>((?:(?!</?h\d|\n\n)[^\0]){1,800})</h\1>[ \t]*$", re.M | re.I)
_TAG = re.compile(r"<img\b[^<>]*?\balt=\"([^\"<>]*)\"[^<>]*>|<[^<>]*>", re.I)
_FENCE = re.compile(r" {0,3}(`{3,}+(?!.*`)|~{3,}+)")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`")
_NOT_SETEXT = re.compile(r" {0,3}(?:[-*+>|]|\d{1,9}[.)][ \t])|\s*$| {4}")
MAX_PLAIN_HEADING = 80
"""Most code points of a heading in plain text."""
MOST_CAPITALS = 0.4
"""If more than this share of the lines of plain text are in capitals, they are not headings."""
FIRST_LINES = 6
"""Number of visible lines in which the title of a text is searched."""
MAX_TITLE = 200
_UNDERLINE = re.compile(r"([=\-~^*#+_])\1{2,}\s*")
_GAP = re.compile(r"\S(?:\t| {2})")
MOST_CENTRED, MAX_INDENT = 3, 3
"""Most lines of a centred title, and the indent that it exceeds."""
_TITLE = r"(?!.*(?:\t| {3}|\.{3})).*[^\s.,:;]"
_NUMBERED = re.compile(rf"( {{0,3}}(?:\d\d?|[A-H])(?:\.\d\d?)+|(?:\d\d?|[A-H])(?=\.))\.?\s{{1,4}}[^\W\d_]{_TITLE}")
_NAMED = re.compile(
    r"(Article|Artikel|Art[íi]culo|Articolo|Artigo|Section|Secci[óo]n|Sezione|Sec[çc][ãa]o|Abschnitt|Chapter|Chapitre"
    r"|Kapitel|Cap[íi]tulo|Capitolo|Part|Partie|Parte|Teil|Appendix|Annexe?|Anexo|Allegato|Anhang|Schedule|§)"
    rf"(?:\s|(?<=§))(?:\d+[a-z]?|[IVXLC]+|[A-H])(?:[.:)]|\b)(?P<title> {_TITLE})?",
    re.IGNORECASE,
)
"""A line of a law, a contract, a standard or a book that names its part."""
_HANGING = re.compile(r"[^\W_](?!.*(?:\t| {3})).*")
LEAST_INDENTED = 0.9
"""Lines above indented text are headings if at least this share of all lines are such lines or indented."""
_CAPITALS = re.compile(r"(?![^\n]*(?:\t| {3}|  - |[^\W\d]:\S))[^\W_][^\n]*[^\W_)?]\s*")
"""A line that may be a heading in capitals, not the name and the value of a field: `BEGIN:VCARD`, `TY  - JOUR`."""
_LETTER = re.compile(r"[^\W\d_]")
_NAME = re.compile(r"NAME|BEZEICHNUNG|NOM|NOMBRE|NOME|NAAM|NAVN|NAMN|NAZWA", re.IGNORECASE)


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
    if not re.search(r"^ {0,3}(?:#[ \t]|=|<h1)", text, re.MULTILINE | re.IGNORECASE):
        return None
    return next((block.title for block in blocks(text) if block.level == 1 and block.title), None)


def blocks(text: str, *, markdown: bool = True) -> list[Block]:
    """Returns the blocks of a text in order. Blank lines between blocks belong to none.

    Plain text has only paragraphs and headings: underlined lines, numbered lines and lines such as "Chapter I", lines
    in capitals between blank lines, as in manual pages, and lines above indented text, as in changelogs. In Markdown, a
    heading is ATX, one underlined line, or `<h1>` to `<h6>`. An unclosed fence extends to the end.
    """
    if markdown:
        return list(_Scanner(text).run())
    return fill(text, find_plain_headings(text, _find_hanging(text)))


def sections(path: Sequence[str], content: str) -> list[tuple[str, ...]]:
    """Returns the heading paths of the sections that contain a chunk, and of the sections inside the chunk."""
    found = [tuple(path[:depth]) for depth in range(1, len(path) + 1)]
    if not _HEADING_MARK.search(content):
        return found
    above: list[Block] = []
    for block in blocks(content):
        if block.kind == "heading" and block.title:
            while above and above[-1].level >= block.level:
                above.pop()
            above.append(block)
            found.append((*path, *(heading.title for heading in above)))
    return found


def fill(text: str, headings: Iterable[Block]) -> list[Block]:
    """Returns headings with the paragraphs between them."""
    found: list[Block] = []
    place = 0
    for heading in headings:
        found += [*_paragraphs(text, place, heading.start), heading]
        place = heading.end
    return [*found, *_paragraphs(text, place, len(text))]


def _paragraphs(text: str, begin: int, finish: int) -> Iterator[Block]:
    start = end = -1
    for line in visible_lines(text, begin, finish):
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
            if not (mark := line.strip()) or match.start() < self._end:
                continue
            if not self._fence:
                yield from self._step(line, match.start(), match.end())
                continue
            self._end = match.end()
            if len(mark) >= len(self._fence) and not mark.strip(self._fence[0]):
                self._fence = ""
        yield from self._close()

    def _step(self, line: str, start: int, end: int) -> Iterator[Block]:
        html = _HTML.match(self._text, start) if "<" in line[:4] else None
        words = _words_of(_TAG.sub(r"\1", html[2])) if html else ""
        if heading := _atx(line) or (html and words and (int(html[1]), words)):
            yield from self._close()
            self._end = html.end() if html else end
            yield Block("heading", start, self._end, *heading)
        elif self._is_underline(line, start):
            words = self._text[self._start : self._end]
            yield Block("heading", self._start, end, 1 if "=" in line else 2, _words_of(words) or words.strip())
            self._kind = None
        elif self._continues(line, start):
            self._end, self._lines = end, self._lines + 1
        else:
            yield from self._close()
            fence = _FENCE.match(line)
            self._fence = fence[1] if fence else ""
            self._kind = "fence" if fence else _kind(line)
            self._start, self._end, self._lines = start, end, 1

    def _close(self) -> Iterator[Block]:
        offload.check_stopped()
        if self._kind:
            yield Block(self._kind, self._start, self._end)
        self._kind = None

    def _continues(self, line: str, start: int) -> bool:
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
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", inline)).split())


def find_plain_headings(text: str, hanging: Collection[int] = ()) -> list[Block]:
    """Returns the headings of a plain text in order, with the lines above and below that mark them.

    `hanging` has the offsets of more headings.
    """
    lines = list(visible_lines(text))
    capitals = [_is_capitals(line[0]) for line in lines]
    use_capitals = sum(capitals) <= max(1, MOST_CAPITALS * len(capitals))
    use_numbers = _is_numbered(lines)
    found, styles = list[Block](), list[str]()
    for number, (line, below) in enumerate(itertools.pairwise(lines)):
        start = _begin(text, lines[number - 1] if number else None, line, below)
        if start is None:
            continue
        is_touching = below.start() == line.end() + 1
        is_alone = start == line.start() and not (is_touching and capitals[number + 1])
        underline = _underline(line[0], below, start < line.start()) if is_touching else ""
        is_part = is_touching and not underline and _is_part(line[0], below)
        style = underline or ((is_part or (use_numbers and not is_touching)) and _number(line[0]))
        if style:
            end = below.end() if is_touching else line.end()
            words = f"{line[0].strip()} {below[0].strip()}" if is_part else line[0].strip()
            found.append(Block("heading", start, end, _level(style, styles), words))
        elif start in hanging or (use_capitals and capitals[number] and is_alone):
            found.append(Block("heading", start, line.end(), 2, line[0].strip()))
    return found


def _find_hanging(text: str) -> Collection[int]:
    """The offsets of lines between blank lines, above indented text, if nearly all other lines are indented."""
    lines = list(visible_lines(text))
    outer = [number for number, line in enumerate(lines) if not line[0][0].isspace()]
    found = {
        line.start()
        for line, below in ((lines[number], lines[number + 1]) for number in outer if number + 1 < len(lines))
        if below[0][0].isspace()
        and below.start() > line.end() + 1
        and text[max(0, line.start() - 2) : line.start()] in ("", "\n\n")
        if len(line[0]) <= MAX_PLAIN_HEADING and _HANGING.fullmatch(line[0])
    }
    is_usual = len(outer) - len(found) <= (1 - LEAST_INDENTED) * len(lines)
    return found if len(found) > 1 and is_usual else ()


def _begin(text: str, above: re.Match[str] | None, line: re.Match[str], below: re.Match[str]) -> int | None:
    """Returns where a heading begins: at its text or its overline, after a blank line; None without a blank line."""
    starts = [line.start()]
    if above is not None and above.end() + 1 == line.start() and above[0].rstrip() == below[0].rstrip():
        starts.append(above.start())
    return next((start for start in starts if not start or text[start - 2 : start] == "\n\n"), None)


def _underline(line: str, below: re.Match[str], is_over: bool) -> str:
    """Returns the style of an underlined heading: the mark below, and `-` if it is above too; empty for other lines."""
    match = _UNDERLINE.fullmatch(below[0])
    length = len(line.strip())
    if match is None or length > MAX_PLAIN_HEADING or line[:1].isspace() or not _LETTER.search(line):
        return ""
    if len(_GAP.findall(line.rstrip())) > 1:  # the names of columns
        return ""
    is_apart = below.string[below.end() : below.end() + 2] in ("\n\n", "\n", "")
    is_long_enough = length / 2 <= len(below[0].strip())
    return match[1] + "-" * is_over if is_long_enough and (is_apart or len(below[0].strip()) <= length + 2) else ""


def _is_part(line: str, below: re.Match[str]) -> bool:
    """Whether a line only names a part, as `CHAPTER I.` does, and the line below, before a blank line, is its title."""
    named = _NAMED.fullmatch(line.strip())
    is_last = below.string[below.end() : below.end() + 2] in ("\n\n", "\n", "")
    is_short = len(below[0]) <= MAX_PLAIN_HEADING and _LETTER.search(below[0]) is not None
    return named is not None and not named["title"] and is_last and is_short


def _number(line: str) -> str:
    """Returns the style of a line that begins with a section's number or kind, by its depth; empty for another line."""
    if len(line) > MAX_PLAIN_HEADING:
        return ""
    if named := _NAMED.fullmatch(line.strip()):
        return named[1].casefold()
    match = _NUMBERED.fullmatch(line.rstrip())
    return "1" * (match[1].count(".") + 1) if match else ""


def _is_numbered(lines: Sequence[re.Match[str]]) -> bool:
    """Returns whether numbered lines are headings. Most headings have text below them, unlike the items of a list."""
    apart = ((line, below) for line, below in itertools.pairwise(lines) if below.start() > line.end() + 1)
    is_last = [style != _number(below[0]) for line, below in apart if (style := _number(line[0]))]
    return sum(is_last) >= max(2, len(is_last) / 2)


def _level(style: str, styles: list[str]) -> int:
    """Returns the level of a heading by the order of styles in a text: from 1 if the first is `=`, else from 2."""
    if style not in styles:
        styles.append(style)
    return styles.index(style) + (1 if styles[0][0] == "=" else 2)


def _is_capitals(line: str) -> bool:
    if len(line) > MAX_PLAIN_HEADING or line != line.upper() or not _CAPITALS.fullmatch(line):
        return False
    letters = sum(map(str.isupper, line))
    return letters >= 3 and 10 * letters >= 7 * len("".join(line.split()))


def plain_title(text: str) -> str:
    """Returns the title of a plain text: its first lines if they stand out, else a heading near its beginning, or "".

    Centred lines stand out. The title of a manual page is the line below `NAME`.
    """
    if title := _find_title_lines(text):
        return title
    heading = next(iter(find_plain_headings(text)), None)
    if heading is None or len(list(visible_lines(text, 0, heading.start))) >= FIRST_LINES:
        return ""
    below = next(visible_lines(text, heading.end), None)
    if _NAME.fullmatch(heading.title) and below is not None:
        return " ".join(below[0].split())[:MAX_TITLE]
    return heading.title


def _find_title_lines(text: str) -> str:
    """Returns the first lines, without underlines, if all are indented more than the text below."""
    first, _, rest = text.partition("\n\n")
    lines, below = [line for line in first.splitlines() if _LETTER.search(line)], next(visible_lines(rest), None)
    if below is None or not 0 < len(lines) <= MOST_CENTRED:
        return ""
    is_title = min(map(_indent, lines)) > max(MAX_INDENT, _indent(below[0]))
    return " ".join(" ".join(lines).split())[:MAX_TITLE] if is_title else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def visible_lines(text: str, begin: int = 0, finish: int = sys.maxsize) -> Iterator[re.Match[str]]:
    """Returns the lines of a part of a text that are not white space."""
    return (line for line in _LINE.finditer(text, begin, finish) if not line[0].isspace())
