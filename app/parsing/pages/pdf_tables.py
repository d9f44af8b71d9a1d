"""Finds tables on a page of a PDF: grids of drawn lines and rectangles around cells."""

from __future__ import annotations

import ctypes
import itertools
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium
from pypdfium2 import raw as pdfium_c

from app.parsing import markdown_writer
from app.parsing.pages import page_layout
from app.parsing.pages.page_layout import TextRun
from app.parsing.pages.pdf_words import Box, Cell, PageTurn

NEAR = 3.0
"""Lines meet if their ends are at most this far apart, in points."""
LEAST_LINE = 6.0
"""Least length of a line of a table, in points."""
LEAST_ROWS = 3
"""A cell over at least this many rows is a frame around its own lines, if it has as many lines."""
MAX_PATHS, MAX_LINES = 2_000, 600
"""If a page has more paths, or more lines in a direction, they are a drawing."""


@dataclass(frozen=True, slots=True)
class RuledLine:
    """A level or upright line: its y or x, and where it begins and ends in the other direction."""

    at: float
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the x of its columns, the y of its rows from below, and for joined cells the first cell."""

    xs: Sequence[float]
    ys: Sequence[float]
    first: Mapping[tuple[int, int], tuple[int, int]]

    @property
    def box(self) -> Box:
        """The box around the table."""
        return self.xs[0], self.ys[0], self.xs[-1], self.ys[-1]

    def cell(self, box: Box) -> tuple[int, int] | None:
        """The row, from above, and the column of the cell around the middle of a box; None outside of the table."""
        column = bisect_right(self.xs, (box[0] + box[2]) / 2) - 1
        above = bisect_right(self.ys, (box[1] + box[3]) / 2) - 1
        if not (0 <= column < len(self.xs) - 1 and 0 <= above < len(self.ys) - 1):
            return None
        return self.first[len(self.ys) - 2 - above, column]


def find_lines(paths: Sequence[pdfium.PdfObject], page: Box) -> list[Box]:
    """The level and upright lines among the paths of a page, as thin boxes; empty if the paths are a drawing.

    Omits the background and the bars of slides: filled areas from one edge of the page to the other.
    """
    if len(paths) > MAX_PATHS:
        return []
    return [box for path in paths if not _is_background(path, page) for box in _lines_of(path)]


def _is_background(path: pdfium.PdfObject, page: Box) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDFPath_GetDrawMode(path, fill, stroke)
    if stroke.value:
        return False
    xs, ys = zip(*_points(path), strict=True) if pdfium_c.FPDFPath_CountSegments(path) > 0 else ((), ())
    spans = ((xs, page[0], page[2]), (ys, page[1], page[3]))
    return any(min(found) - NEAR <= least and max(found) + NEAR >= most for found, least, most in spans if found)


def _lines_of(path: pdfium.PdfObject) -> Iterator[Box]:
    """The lines of a path. A thin rectangle is one line."""
    left, bottom, right, top = path.get_bounds()
    if path.container is None and min(right - left, top - bottom) <= NEAR:
        yield left, bottom, right, top
        return
    points = list(_points(path))
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if min(abs(x0 - x1), abs(y0 - y1)) <= 1:
            yield min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def _points(path: pdfium.PdfObject) -> Iterator[tuple[float, float]]:
    """The end points, on the page, of the lines of a path. A rectangle ends where it begins."""
    matrix, container = path.get_matrix(), path.container
    while container is not None:
        matrix, container = matrix.multiply(container.get_matrix()), container.container
    first = None
    x, y = ctypes.c_float(), ctypes.c_float()
    for number in range(min(MAX_LINES, pdfium_c.FPDFPath_CountSegments(path))):
        segment = pdfium_c.FPDFPath_GetPathSegment(path, number)
        pdfium_c.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        if pdfium_c.FPDFPathSegment_GetType(segment) == pdfium_c.FPDF_SEGMENT_MOVETO:
            first = point
        yield point
        if first is not None and pdfium_c.FPDFPathSegment_GetClose(segment):
            yield first


def find_tables(boxes: Iterable[Box], turn: PageTurn) -> list[Grid]:
    """The tables among the lines of a turned page, smallest first, because a table may be inside another one."""
    turned = [turn.box(box) for box in boxes]
    level = _join(RuledLine((y0 + y1) / 2, x0, x1) for x0, y0, x1, y1 in turned if y1 - y0 <= NEAR)
    upright = _join(RuledLine((x0 + x1) / 2, y0, y1) for x0, y0, x1, y1 in turned if x1 - x0 <= NEAR)
    if not 2 <= min(len(level), len(upright)) <= max(len(level), len(upright)) <= MAX_LINES:
        return []
    found = [_grid(*lines) for lines in _connect(level, upright) if min(map(len, lines)) >= 2]
    tables = [grid for grid in found if min(len(grid.xs), len(grid.ys)) > 2]
    return sorted(tables, key=lambda grid: (grid.xs[-1] - grid.xs[0]) * (grid.ys[-1] - grid.ys[0]))


def _join(lines: Iterable[RuledLine]) -> list[RuledLine]:
    """Joins lines of one direction that meet, and removes lines that are part of another line."""
    rows: list[list[RuledLine]] = []
    for line in sorted(lines, key=lambda line: line.at):
        if rows and line.at - rows[-1][-1].at <= NEAR:
            rows[-1].append(line)
        else:
            rows.append([line])
    spans: list[RuledLine] = []
    for row in rows:
        at = sum(line.at for line in row) / len(row)
        for number, line in enumerate(sorted(row, key=lambda line: line.begin)):
            if number and line.begin - spans[-1].end <= NEAR:
                spans[-1] = RuledLine(at, spans[-1].begin, max(spans[-1].end, line.end))
            else:
                spans.append(RuledLine(at, line.begin, line.end))
    return [line for line in spans if line.end - line.begin >= LEAST_LINE]


def _connect(
    level: Sequence[RuledLine], upright: Sequence[RuledLine]
) -> Iterator[tuple[list[RuledLine], list[RuledLine]]]:
    """The lines of each table: lines that cross or touch one another."""
    left = set(range(len(upright)))
    rest = set(range(len(level)))
    while rest:
        rows, columns = {rest.pop()}, set[int]()
        new = set(rows)
        while new:
            found = {at for at in left if any(_cross(level[row], upright[at]) for row in new)}
            left -= found
            columns |= found
            new = {row for row in rest if any(_cross(level[row], upright[at]) for at in found)}
            rest -= new
            rows |= new
        yield [level[row] for row in rows], [upright[at] for at in columns]


def _cross(level: RuledLine, upright: RuledLine) -> bool:
    is_beside = level.begin - NEAR <= upright.at <= level.end + NEAR
    return is_beside and upright.begin - NEAR <= level.at <= upright.end + NEAR


def _grid(level: Sequence[RuledLine], upright: Sequence[RuledLine]) -> Grid:
    """The grid of lines. Cells without a line between them are joined."""
    ys, xs = sorted({line.at for line in level}), sorted({line.at for line in upright})
    rows, columns = len(ys) - 1, len(xs) - 1
    first: dict[tuple[int, int], tuple[int, int]] = {}
    for row in range(rows):
        bottom, top = ys[rows - 1 - row], ys[rows - row]
        for column in range(columns):
            cell = (row, column)
            if column and not _covers(upright, xs[column], (bottom + top) / 2):
                cell = first[row, column - 1]
            elif row and not _covers(level, top, (xs[column] + xs[column + 1]) / 2):
                cell = first[row - 1, column]
            first[row, column] = cell
    return Grid(xs, ys, first)


def _covers(lines: Iterable[RuledLine], at: float, place: float) -> bool:
    return any(line.at == at and line.begin <= place <= line.end for line in lines)


def insert_tables(runs: Iterable[tuple[Cell | None, TextRun]], grids: Sequence[Grid]) -> list[TextRun]:
    """Replaces the runs in each table by the table in Markdown."""
    cells: defaultdict[int, defaultdict[tuple[int, int], list[TextRun]]] = defaultdict(lambda: defaultdict(list))
    found: list[TextRun] = []
    for cell, run in runs:
        if cell is None:
            found.append(run)
        else:
            cells[cell[0]][cell[1:]].append(run)
    for number, texts in cells.items():
        found += _table(grids[number], texts)
    return found


def _table(grid: Grid, texts: Mapping[tuple[int, int], list[TextRun]]) -> list[TextRun]:
    """Joins a table to one run. The runs of a frame around text, or of a mostly blank table, are unchanged."""
    rows, columns = (sorted(set(one)) for one in zip(*texts, strict=True))
    cells = {(row, column) for row, column in grid.first.values() if row in rows and column in columns}
    lines = {cell: page_layout.lines(found) for cell, found in texts.items()}
    heights = Counter(first for _row, first in {(row, first) for (row, _), first in grid.first.items()})
    is_frame = any(LEAST_ROWS <= heights[cell] <= len(found) for cell, found in lines.items())
    if is_frame or len(rows) < 2 or len(columns) < 2 or 2 * len(texts) < len(cells):
        return [run for cell in texts.values() for run in cell]
    words = {cell: " ".join(line.text for line in found) for cell, found in lines.items()}
    by_row = ({grid.first[row, column] for column in columns} for row in rows)
    titles = set().union(*(firsts for firsts in by_row if len(firsts) == 1))
    table = [[_text_at((row, column), grid, words, titles) for column in columns] for row in rows]
    return [TextRun(markdown_writer.table(table), *grid.box, is_block=True)]


def _text_at(
    cell: tuple[int, int], grid: Grid, words: Mapping[tuple[int, int], str], titles: Container[tuple[int, int]]
) -> str:
    """The text of a cell. A joined cell's text is repeated, unless it is a title over all columns, or long."""
    first = grid.first[cell]
    found = words.get(first, "")
    is_repeated = first not in titles and len(found) <= markdown_writer.LONGEST_REPEATED
    return found if first == cell or is_repeated else ""
