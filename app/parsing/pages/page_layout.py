"""Puts the text of a page into reading order: columns from left to right, lines from top to bottom, in paragraphs.

Scripts that are read from right to left have their columns, and the parts of their lines, in that order.

Coordinates are points, with y upwards, as in PDF.
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.text.words import characters

SAME_LINE = 0.5
"""Two runs are on one line if they overlap by at least this share of the smaller height."""
PARAGRAPH_LEADING = 1.35
"""A line begins a paragraph if the line above is farther away than this multiple of the page's median distance."""
SIZE_CHANGE = 1.15
COLUMN_RUNS = 5
"""Least number of lines in a column."""
COLUMN_TEXT = 18
"""Least median of characters in the lines of a column. A column with less is part of a table, which is read by row."""
COLUMN_PROSE = 40
"""A side of a page is a column, too, if half of its text is in lines of this many characters, whatever the median."""
COLUMNS_ACROSS = 3
"""Least number of cells in a row of a table that stands across two columns of text."""
GUTTER_PLACES = 2_000
"""Largest number of places across a page at which a space between columns is looked for, usually 2 points apart."""
CROSSING = 0.25
"""Largest share of a page's runs that may cross the space between two columns."""
SHARED_HEIGHT = 0.4
MAX_DEPTH = 2
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LEFT_TO_RIGHT = re.compile("[A-Za-z\u00c0-\u058f\u0900-\u1fff\u3040-\ud7ff]")
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "”", '"', ")", *characters.FULL_STOPS)


@dataclass(frozen=True, slots=True)
class TextRun:
    """Text on one line without a wide gap, and its box. `is_block` is set for a separate block, such as a table.

    `parts` has the texts of the runs that were joined to a line.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    is_block: bool = False
    parts: tuple[str, ...] = ()
    is_bold: bool = False

    @property
    def size(self) -> float:
        """The height of the box, which is proportional to the font size."""
        return self.y1 - self.y0


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line of a page, the size of its text, and whether a paragraph begins with it.

    `parts` are its texts between wide gaps, `top` is its upper y. `is_aside` is set for a note, and for a line in
    another direction than the text.
    """

    text: str
    size: float
    begins: bool = False
    is_block: bool = False
    parts: tuple[str, ...] = ()
    is_aside: bool = False
    top: float = 0.0
    is_bold: bool = False


def lines(runs: Sequence[TextRun]) -> list[PageLine]:
    """The lines of a page in reading order."""
    rows = list(_order(runs, 0))
    steps = [above.y1 - row.y1 for above, row in itertools.pairwise(rows) if above.y1 > row.y1]
    leading = statistics.median(steps) if steps else 0.0
    usual = statistics.median(row.size for row in rows) if rows else 0.0
    found: list[PageLine] = []
    for place, row in enumerate(rows):
        begins = place == 0 or _begins(rows[place - 1], row, leading * max(1.0, row.size / max(1.0, usual)))
        found.append(PageLine(row.text, row.size, begins, row.is_block, row.parts, top=row.y1, is_bold=row.is_bold))
    return found


def _order(runs: Sequence[TextRun], depth: int) -> Iterator[TextRun]:
    """The lines of a region. Between two lines that cross its columns, the columns follow one another."""
    gutter = _gutter(runs) if depth < MAX_DEPTH else None
    if gutter is None:
        yield from _rows(runs)
        return
    crossing = _crossing(runs, gutter)
    taken = set(map(id, crossing))
    others = deque(sorted((run for run in runs if id(run) not in taken), key=_depth))
    for row in (*_rows(crossing), None):
        inside: list[TextRun] = []
        while others and (row is None or _depth(others[0]) < _depth(row)):
            inside.append(others.popleft())
        columns = [run for run in inside if run.x1 <= gutter], [run for run in inside if run.x0 >= gutter]
        first, second = reversed(columns) if _is_right_to_left(inside) else columns
        end = _heading_top(first, second) if row is not None else float("-inf")
        for column in ([run for run in first if run.y0 >= end], second):
            yield from _order(column, depth + 1)
        yield from _rows([run for run in first if run.y0 < end])
        if row is not None:
            yield row


def _depth(run: TextRun) -> float:
    return -(run.y0 + run.y1) / 2


def _crossing(runs: Sequence[TextRun], gutter: float) -> list[TextRun]:
    """The runs that cross the space between two columns, and the cells of tables that stand across it."""
    edge = max((run for run in runs if run.x0 >= gutter), key=lambda run: len(run.text)).x0
    found = [run for run in runs if run.x0 < gutter < run.x1]
    for is_across, rows in itertools.groupby(_group(runs), lambda row: _is_across(row, gutter, edge)):
        table = list(rows) if is_across else []
        if len(table) > 1:
            found += [run for row in table for run in row if not run.x0 < gutter < run.x1]
    return found


def _is_across(runs: Sequence[TextRun], gutter: float, edge: float) -> bool:
    """Whether a row is of a table across two columns: short cells, of which none begins at the edge of the second."""
    row = sorted(runs, key=lambda run: run.x0)
    right = next((place for place, run in enumerate(row) if run.x0 >= gutter), 0)
    if len(row) < COLUMNS_ACROSS or not right or row[right].x0 - edge <= row[right].size:
        return False
    gaps = [after.x0 - run.x1 for run, after in itertools.pairwise(row)]
    is_even = right == 1 or gaps.pop(right - 1) <= max(gaps)
    return is_even and len(row[0].text) < COLUMN_PROSE and all(len(run.text) < COLUMN_TEXT for run in row[1:])


def _heading_top(column: Sequence[TextRun], beside: Sequence[TextRun]) -> float:
    """The y above the last line of a column if it is a heading below all text beside the column; else minus infinity.

    Such a heading is about what follows both columns.
    """
    rows = _rows(column) if beside else []
    if len(rows) < 2 or rows[-1].y1 > min(run.y0 for run in beside):
        return float("-inf")
    is_large = rows[-1].size > SIZE_CHANGE * statistics.median(run.size for run in beside)
    return rows[-1].y1 if is_large or rows[-1].is_bold else float("-inf")


def _gutter(runs: Sequence[TextRun]) -> float | None:
    """The x of the space between two columns of text; None for a single column."""
    if len(runs) < 2 * COLUMN_RUNS:
        return None
    left, right = min(run.x0 for run in runs), max(run.x1 for run in runs)
    width = right - left
    best: tuple[int, float, float] | None = None
    for place in range(int(left + 0.2 * width), int(left + 0.8 * width), max(2, int(width / GUTTER_PLACES))):
        crossing = sum(run.x0 < place < run.x1 for run in runs)
        if crossing > CROSSING * len(runs):
            continue
        rank = (crossing, abs(place - (left + right) / 2), float(place))
        if (best is None or rank < best) and _separates(runs, place):
            best = rank
    return best[2] if best else None


def _separates(runs: Sequence[TextRun], place: float) -> bool:
    """Whether two columns of text stand next to each other, one on each side of an x."""
    sides = [run for run in runs if run.x1 <= place], [run for run in runs if run.x0 >= place]
    if not all(map(_is_column, sides)):
        return False
    (low, high), (other_low, other_high) = ((min(r.y0 for r in s), max(r.y1 for r in s)) for s in sides)
    shared = min(high, other_high) - max(low, other_low)
    return shared >= SHARED_HEIGHT * min(high - low, other_high - other_low)


def _is_column(side: Sequence[TextRun]) -> bool:
    lengths = [len(run.text) for run in side]
    if len(side) < COLUMN_RUNS:
        return False
    in_long_lines = sum(length for length in lengths if length >= COLUMN_PROSE)
    return statistics.median(lengths) >= COLUMN_TEXT or 2 * in_long_lines >= sum(lengths)


def _rows(runs: Sequence[TextRun]) -> list[TextRun]:
    """The runs joined to lines, from top to bottom."""
    joined = []
    for row in _group(runs):
        across = sorted(row, key=lambda run: run.x0, reverse=_is_right_to_left(row))
        largest = max(across, key=lambda run: len(run.text))
        parts = tuple(run.text.strip() for run in across)
        text, is_bold = " ".join(parts).strip(), all(run.is_bold for run in across)
        left, right = min(run.x0 for run in across), max(run.x1 for run in across)
        joined.append(replace(largest, text=text, parts=parts, x0=left, x1=right, is_bold=is_bold))
    return joined


def _group(runs: Sequence[TextRun]) -> list[list[TextRun]]:
    """The runs of each line, from top to bottom."""
    rows: list[list[TextRun]] = []
    for run in sorted(runs, key=lambda run: (_depth(run), run.x0)):
        if rows and _is_same_line(rows[-1][0], run):
            rows[-1].append(run)
        else:
            rows.append([run])
    return rows


def _is_right_to_left(runs: Sequence[TextRun]) -> bool:
    """Whether most letters of the runs are read from right to left."""
    text = "".join(run.text for run in runs)
    return not text.isascii() and len(_RIGHT_TO_LEFT.findall(text)) > len(_LEFT_TO_RIGHT.findall(text))


def _is_same_line(first: TextRun, run: TextRun) -> bool:
    shared = min(first.y1, run.y1) - max(first.y0, run.y0)
    return not (first.is_block or run.is_block) and shared >= SAME_LINE * min(first.size, run.size)


def _begins(above: TextRun, row: TextRun, leading: float) -> bool:
    if above.is_block or row.is_block or max(above.size, row.size) > SIZE_CHANGE * min(above.size, row.size):
        return True
    if row.y1 >= above.y1:  # the top of the next column
        return above.text.endswith(_SENTENCE_ENDS)
    return above.y1 - row.y1 > PARAGRAPH_LEADING * leading
