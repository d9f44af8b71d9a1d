"""Finds the headings of a PDF: the lines that its outline names, or else lines in a larger or bold font."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from app.parsing.pages.page_layout import PageLine

LARGER = 1.15
"""Least size of a heading, as a multiple of the size of the text."""
TITLE_LARGER = 1.3
TITLE_PAGES = 3
"""The title in the properties of the file is searched on this many pages, because a cover may be a picture."""
MAX_HEADING = 200
MAX_SHARE = 0.3
"""If more than this share of the lines are in larger or bold fonts, they are not headings."""
MAX_BOLD, MAX_NUMBER = 100, 8
"""Most characters of a heading that is only bold, and of its number if a wide gap follows the number."""
MAX_LINES = 3
"""Most lines of a heading."""
_NO_HEADING = re.compile(r"(?i)[.,;-]$|\.\s?\.\s?\.|^(?:fig|tab|abb)\w*\.?\s*\d|^[図图表]\s*\d")
"""A bold line that is a sentence, an entry of a table of contents, or the caption of a figure or table."""
_FORMULA = re.compile("[\U0001d400-\U0001d7ff]")
FONT_LEVELS = 4
TITLE_LEVEL, FIRST_LEVEL, LAST_LEVEL = 1, 2, 6


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """An entry of a PDF's outline: its title, its level from 0, the index of its page, and its y there if known."""

    title: str
    level: int
    page: int
    top: float | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of `count` lines. Level 1 is the title of the document."""

    level: int
    count: int


Count = Callable[[Sequence[PageLine], int, float], int]
"""Returns the number of lines, from an index on, that are one heading, given the size of the text."""
Found = dict[tuple[int, int], Heading]
"""Headings by the index of their page and of their first line."""


def find(pages: Sequence[Sequence[PageLine]], outline: Iterable[OutlineEntry], named: str = "") -> Found:
    """The headings of the pages, and the title of the document: where it is `named`, or else if its font shows it."""
    characters: Counter[float] = Counter()
    for line in itertools.chain.from_iterable(pages):
        characters[_round(line.size)] += len(line.text) * (not line.is_block)
    body = characters.most_common(1)[0][0] if characters else 0.0
    found = _outline(pages, outline) or _larger(pages, body, _bold_lines) or _larger(pages, body)
    if titled := _named(pages, named):
        found |= titled
    elif (title := _title(pages, body)) is not None:
        place, heading = title
        if place not in found or [key for key, one in found.items() if one.level == FIRST_LEVEL] == [place]:
            found[place] = heading
    return found


def _outline(pages: Sequence[Sequence[PageLine]], outline: Iterable[OutlineEntry]) -> Found:
    found: Found = {}
    for entry in outline:
        if not (0 <= entry.page < len(pages)) or not (wanted := _key(entry.title)):
            continue
        lines = pages[entry.page]
        free = (index for index in range(len(lines)) if (entry.page, index) not in found)
        counts = {index: count for index in free if (count := _lines_of(lines, index, wanted))}
        if counts:  # several, if a running header repeats the heading
            level = min(FIRST_LEVEL + entry.level, LAST_LEVEL)
            index = min(counts, key=lambda index: abs(lines[index].top - entry.top) if entry.top else index)
            found[entry.page, index] = Heading(level, counts[index])
    return found


def _lines_of(lines: Sequence[PageLine], first: int, wanted: str) -> int:
    """The number of lines from `first` on that together are a title, with or without its number; else 0."""
    key = ""
    for count, line in enumerate(lines[first : first + MAX_LINES], 1):
        key += "" if line.is_block else _key(line.text)
        forms = (key, key.lstrip("0123456789"))
        if wanted in forms:
            return count
        if not any(form and wanted.startswith(form) for form in forms):
            return 0
    return 0


def _key(text: str) -> str:
    """The letters and digits of a title. They compare an entry of an outline with a line."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _larger(pages: Sequence[Sequence[PageLine]], body: float, count_others: Count | None = None) -> Found:
    """Headings in a larger font, and other headings. The largest fonts have the first levels."""
    candidates: Found = {}
    sizes: dict[tuple[int, int], float] = {}
    for page, lines in enumerate(pages):
        index = 0
        while index < len(lines):
            count = _larger_lines(lines, index, LARGER * body)
            if not count and count_others:
                count = count_others(lines, index, body)
            if count:
                candidates[page, index] = Heading(0, count)
                sizes[page, index] = _round(lines[index].size)
            index += max(1, count)
    total = sum(line.text.count("\n") + 1 for line in itertools.chain.from_iterable(pages))  # a table has many
    if sum(heading.count for heading in candidates.values()) > MAX_SHARE * total:
        return {}
    ranked = sorted(set(sizes.values()), reverse=True)
    level = {size: FIRST_LEVEL + min(rank, FONT_LEVELS - 1) for rank, size in enumerate(ranked)}
    return {place: Heading(level[sizes[place]], heading.count) for place, heading in candidates.items()}


def _larger_lines(lines: Sequence[PageLine], first: int, least: float) -> int:
    """The number of lines from `first` on that are one heading in a larger font; 0 if there is none."""
    count = characters = 0
    for line in lines[first : first + MAX_LINES]:
        same = count == 0 or (not line.begins and abs(line.size - lines[first].size) <= 0.5)
        if line.is_block or line.size < least or not _is_mostly_letters(line.text) or not same:
            break
        count, characters = count + 1, characters + len(line.text)
    return count if 0 < characters <= MAX_HEADING else 0


def _bold_lines(lines: Sequence[PageLine], first: int, body: float) -> int:
    """The number of lines from `first` on that are one heading in a bold font; 0 if there is none."""
    after = lines[first : first + MAX_LINES + 1]
    bold = itertools.takewhile(lambda line: line.is_bold and (line is after[0] or not line.begins), after)
    found = list(bold)
    text = " ".join(line.text for line in found)
    is_whole = first + len(found) < len(lines) and 0 < len(found) <= MAX_LINES and len(text) <= MAX_BOLD
    size = round(after[0].size, 1)
    is_apart = is_whole and (found[0].begins or size >= body + 0.5)
    if not is_apart or size < body - 0.5:
        return 0
    is_row = any(len(line.parts) > 2 or len("".join(line.parts[:-1])) > MAX_NUMBER for line in found)
    return 0 if is_row or _NO_HEADING.search(text) or not _is_mostly_letters(text) else len(found)


def _named(pages: Sequence[Sequence[PageLine]], named: str) -> Found:
    """The lines of the first pages that are the title in the properties of the file; empty if there are none."""
    wanted = _key(named)
    places = ((page, index) for page, lines in enumerate(pages[:TITLE_PAGES]) for index in range(len(lines)))
    counts = ((place, _lines_of(pages[place[0]], place[1], wanted)) for place in places if wanted)
    return next(({place: Heading(TITLE_LEVEL, count)} for place, count in counts if count), {})


def _title(pages: Sequence[Sequence[PageLine]], body: float) -> tuple[tuple[int, int], Heading] | None:
    """The lines of the first page in the largest font of the document, if no other page has that size."""
    words = ((page, line) for page, lines in enumerate(pages) for line in lines if _is_mostly_letters(line.text))
    sizes = [(_round(line.size), page) for page, line in words if not line.is_block]
    if not sizes or (largest := max(sizes)[0]) < TITLE_LARGER * body:
        return None
    if any(size == largest and page > 0 for size, page in sizes):
        return None
    counts = ((index, _larger_lines(pages[0], index, largest - 0.5)) for index in range(len(pages[0])))
    return next((((0, index), Heading(TITLE_LEVEL, count)) for index, count in counts if count), None)


def _is_mostly_letters(text: str) -> bool:
    """Whether a line is words after its number, not a formula or a date. Italic letters of formulas are no words."""
    words = text.lstrip("0123456789. §")
    letters = filter(str.isalpha, words if words.isascii() else _FORMULA.sub("", words))
    return 0 < len(words) - words.count(" ") <= 2 * sum(1 for _ in letters)


def _round(size: float) -> float:
    return round(size * 2) / 2
