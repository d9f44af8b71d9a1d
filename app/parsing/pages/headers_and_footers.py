"""Removes repeated lines at the top and bottom of pages: headers, footers and page numbers.

A header is the same line on neighbouring pages. It stays where it first occurs. Lines that differ in their numbers are
text. A number is a page number if it counts the pages.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.parsing.pages.page_layout import PageLine
from app.parsing.types import LeftOut

MARGIN_LINES = 2
"""Headers, footers and page numbers are searched in this many lines at the top and at the bottom of a page."""
MIN_PAGES = 3
"""Least number of pages that repeat a line, or whose numbers count them."""
MIN_NUMBERED = 5
"""Least number of counted pages, if the page number is beside other text in its line."""
NEIGHBOURHOOD = 2
"""Equal lines at most this many pages apart belong together, because headers of left and right pages differ."""
MAX_LINE = 200
LEAST_YEAR = 1_000
"""A page number from this on is accepted only in a document of half as many pages: 1912 may be a year."""
HEADERS, NUMBERS = "lines repeated at the top or bottom of pages", "page numbers"
_COUNT = r"(?P<number>\d{1,5}|[ivxlc]{1,8})(?:\W*(?:of|von|de|di|sur|av|af|z|/)\W*(?P<total>\d{1,5}))?"
_SIGNS = r"[-–—|·•.()\[\]\s]*"
_BARE = re.compile(rf"(?i){_SIGNS}{_COUNT}{_SIGNS}")
_LABELLED = re.compile(
    rf"(?i)(.*?)(?:^|[\W_])(?:page|seite|página|pagina|strona|sida|side|pag|pg|p|s)\b\.?\s*{_COUNT}{_SIGNS}"
)
_VALUE = re.compile(r":\s*\D?[-+−]?\d")
_MOMENT = re.compile(r"\d{1,4}(?:[/.-] ?\d{1,4}){2}\.?,? (?:[^\W\d]{2} )?\d{1,2}:\d\d")
"""When a browser printed the page, whose minutes are no value: 11/30/26, 3:26 PM."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_ROMAN = re.compile("c*(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}

Place = tuple[int, int]
"""The index of a page, and the index of a line on it."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A number that may count the pages, as text and as value, the rest of its line, and the stated total or 0."""

    rest: str
    number: str
    value: int
    total: int
    least: int = MIN_PAGES


def remove(pages: Sequence[Sequence[PageLine]]) -> tuple[list[list[PageLine]], tuple[LeftOut, ...]]:
    """Removes page numbers, and lines that an earlier page has. Returns the pages and what is left out."""
    outermost = dict(_margins(pages))
    lines = {place: pages[place[0]][place[1]].text for place in outermost}
    counted = _count(pages, outermost)
    texts = {place: counted[place].rest if place in counted else text for place, text in lines.items()}
    repeated = dict.fromkeys(_repeat(texts, counted))
    kept: list[list[PageLine]] = [[] for _ in pages]
    for page, found in enumerate(pages):
        for at, line in enumerate(found):
            text = "" if (page, at) in repeated else texts.get((page, at), line.text)
            if text:
                kept[page].append(line if line.text == text else replace(line, text=text))
    left_out = (
        (HEADERS, {place: texts[place] for place in sorted(repeated)}),
        (NUMBERS, {place: counted[place].number for place in sorted(counted)}),
    )
    return kept, tuple(
        LeftOut(reason, "\n".join(lines.values()), spans(page + 1 for page, _ in lines))
        for reason, lines in left_out
        if lines
    )


def _margins(pages: Sequence[Sequence[PageLine]]) -> Iterator[tuple[Place, bool]]:
    """The outermost lines of the pages that may be headers or footers, and whether they are in the upper half.

    On a page with columns they may be anywhere among its lines.
    """
    for page, lines in enumerate(pages):
        inside = sorted((at for at, line in enumerate(lines) if not line.is_aside), key=lambda at: -lines[at].top)
        for index in dict.fromkeys(inside[:MARGIN_LINES] + inside[-MARGIN_LINES:]):
            if not lines[index].is_block and len(lines[index].text) <= MAX_LINE:
                yield (page, index), 2 * inside.index(index) < len(inside)


def _count(pages: Sequence[Sequence[PageLine]], places: Mapping[Place, bool]) -> dict[Place, _Counted]:
    """The lines with a page number: numbers at the same end of neighbouring pages that grow with the pages.

    Several pages of one slide have the same number, such as 3/20.
    """
    groups: defaultdict[tuple[int, int, bool, int], list[Place]] = defaultdict(list)
    found: dict[Place, _Counted] = {}
    before = rounds = 0
    for (page, index), is_upper in sorted(places.items()):
        number = _number(pages[page][index])
        if number is not None and (number.value < LEAST_YEAR or number.value <= 2 * len(pages)):
            found[page, index] = number
            is_slide = number.value <= number.total <= len(pages)
            rounds += is_slide and number.value < before
            before = number.value if is_slide else before
            key = (number.total, rounds) if is_slide else (0, number.value - page)
            groups[*key, is_upper, number.least].append((page, index))
    runs = (run for (*_, least), group in groups.items() for run in _runs(group, least))
    return {place: found[place] for run in runs for place in run}


def _number(line: PageLine) -> _Counted | None:
    """The number of a line that may be a page number; None if it has none."""
    if match := _BARE.fullmatch(line.text):
        return _of("", line.text, match)
    if match := _LABELLED.fullmatch(line.text):
        return _of(match[1].rstrip(" \t|·•-–—,"), line.text[match.end(1) :], match)
    for number, rest in ((line.parts[:1], line.parts[1:]), (line.parts[-1:], line.parts[:-1])):
        if rest and (match := _BARE.fullmatch(number[0])):
            return _of(" ".join(rest), number[0], match, MIN_NUMBERED)
    return None


def _of(rest: str, number: str, match: re.Match[str], least: int = MIN_PAGES) -> _Counted | None:
    digits = match["number"]
    value = int(digits) if digits.isdecimal() else _roman(digits.casefold())
    return _Counted(rest, number, value, int(match["total"] or 0), least) if value else None


def _roman(digits: str) -> int:
    """The value of a Roman number; 0 for other text."""
    if not _ROMAN.fullmatch(digits):
        return 0
    return sum(
        _ROMAN_VALUES[digit] * (-1 if _ROMAN_VALUES[digit] < _ROMAN_VALUES.get(after, 0) else 1)
        for digit, after in itertools.zip_longest(digits, digits[1:], fillvalue="")
    )


def _repeat(texts: Mapping[Place, str], counted: Collection[Place]) -> Iterator[Place]:
    """The lines that are on at least MIN_PAGES neighbouring pages, except the first occurrence.

    A line without a word, such as the number of a manual, counts only beside a page number.
    """
    places: defaultdict[str, list[Place]] = defaultdict(list)
    for place, text in texts.items():
        if (_WORD.search(text) or (text and place in counted)) and not _VALUE.search(_MOMENT.sub("", text)):
            places[" ".join(text.casefold().split())].append(place)
    for found in places.values():
        for run in _runs(found, MIN_PAGES):
            yield from run[1:]


def _runs(places: Sequence[Place], least: int) -> list[list[Place]]:
    """Places in groups of neighbouring pages. Each group has at least `least` places."""
    runs: list[list[Place]] = []
    for place in sorted(places):
        if runs and place[0] - runs[-1][-1][0] <= NEIGHBOURHOOD:
            runs[-1].append(place)
        else:
            runs.append([place])
    return [run for run in runs if len({page for page, _ in run}) >= least]


def spans(numbers: Iterable[int]) -> str:
    """Formats ascending page numbers, such as `pages 1–3, 7`."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number - ranges[-1][-1] <= 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    texts = [f"{first}" if first == last else f"{first}–{last}" for first, last in ranges]
    return f"page {texts[0]}" if texts == [f"{ranges[0][0]}"] else f"pages {', '.join(texts)}"
