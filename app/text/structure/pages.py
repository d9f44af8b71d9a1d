"""Cleans a text of pages: removes page numbers and repeated headers and footers, and joins what a page break divides.

A running header or footer is kept where it first occurs, so that no words are lost.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.text.words import cleaning

MARGIN_LINES = 2
"""Lines at the top and at the bottom of a page among which headers and footers are searched."""
MIN_PAGES = 3
"""Pages on which a line is repeated at least to be a header or footer."""
NEIGHBOURHOOD = 2
"""Distance in pages up to which equal lines belong together: headers of left and right pages differ."""
MAX_MARGIN_LINE = 200
_NUMBER = re.compile(r"\d+|^[ivxlc]+$")
_PAGE_NUMBER = re.compile(
    r"(?:\W*+(?:page|seite|página|pagina|p|s)\b\.?)?"
    r"(?:[\W_]*_)?+[^\w#]*+#\W*+(?:(?:of|von|de|di)[^\w#]*+#\W*+)?$"
)
_STRUCTURE = re.compile(r"\s*(?:#{1,6}\s|\||```|~~~|[-*+]\s|\d{1,9}[.)]\s)")
_SENTENCE_END = re.compile(r"[.!?:;。！？…][\"'”’)\]]*$")


@dataclass(frozen=True, slots=True)
class CleanedPages:
    """A cleaned text, the offset of each of its pages, and warnings on what was removed."""

    text: str
    starts: tuple[int, ...]
    warnings: tuple[str, ...] = ()


def clean(text: str, starts: Sequence[int]) -> CleanedPages:
    """Cleans a text whose pages begin at the given offsets. Takes linear time."""
    bounds = [*starts, len(text)]
    pages = without_margins([text[begin:end].strip("\n") for begin, end in pairwise(bounds)])
    cleaned = [cleaning.clean(page) for page in pages]
    warnings = dict.fromkeys(warning for page in cleaned for warning in page.warnings)
    joined, offsets = _joined([page.text for page in cleaned])
    return CleanedPages(joined, tuple(offsets), tuple(warnings))


def without_margins(pages: Sequence[str]) -> list[str]:
    """Returns the pages without page numbers and without headers and footers that an earlier page has."""
    lines = [page.split("\n") for page in pages]
    margins = [_margins(page) for page in lines]
    repeated = _repeated(lines, margins)
    return ["\n".join(line for at, line in enumerate(page) if (n, at) not in repeated) for n, page in enumerate(lines)]


def _margins(lines: Sequence[str]) -> list[int]:
    """Returns the indices of the outermost lines of a page that may be headers or footers."""
    visible = [index for index, line in enumerate(lines) if line.strip()]
    outer = dict.fromkeys(visible[:MARGIN_LINES] + visible[-MARGIN_LINES:])
    return [index for index in outer if len(lines[index]) <= MAX_MARGIN_LINE and not _STRUCTURE.match(lines[index])]


def _repeated(lines: Sequence[Sequence[str]], margins: Sequence[Sequence[int]]) -> set[tuple[int, int]]:
    """Returns the lines to remove, each by its page and its index there."""
    places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for page, indices in enumerate(margins):
        for index in indices:
            places[_key(lines[page][index])].append((page, index))
    removed: set[tuple[int, int]] = set()
    for key, found in places.items():
        for run in _runs(found):
            if len({page for page, _ in run}) >= MIN_PAGES:
                removed.update(run if _PAGE_NUMBER.match(key) else run[1:])
    return removed


def _key(line: str) -> str:
    """Returns a line without its numbers, by which headers of different pages are compared."""
    return " ".join(_NUMBER.sub("#", line.strip().casefold()).split())


def _runs(places: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Returns places of equal lines in groups of neighbouring pages."""
    runs: list[list[tuple[int, int]]] = []
    for place in places:
        if runs and place[0] - runs[-1][-1][0] <= NEIGHBOURHOOD:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _joined(pages: Sequence[str]) -> tuple[str, list[int]]:
    """Returns the pages as one text, and the offset of each."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    previous = ""
    for page in pages:
        if previous and page:
            previous, separator = _separated(previous, page)
            length += len(previous) - len(parts[-1]) + len(separator)
            parts[-1:] = [previous, separator]
            _lower(starts, length)
        starts.append(length)
        if page:
            parts.append(page)
            length += len(page)
            previous = page
    return "".join(parts), starts


def _lower(starts: list[int], most: int) -> None:
    """Lower the starts of the blank pages at the end, after a hyphen before them was removed."""
    place = len(starts)
    while place and starts[place - 1] > most:
        place -= 1
        starts[place] = most


def _separated(above: str, below: str) -> tuple[str, str]:
    """Returns the page above, without the hyphen of a word that continues below, and what separates the two."""
    first, last = below.partition("\n")[0], above.rpartition("\n")[2]
    prose = not (_STRUCTURE.match(first) or _STRUCTURE.match(last))
    if prose and first[:1].islower():
        if last[-1:] == "-" and last[-2:-1].islower():
            return above[:-1], ""
        if not _SENTENCE_END.search(last):
            return above, "\n"
    return above, "\n\n"
