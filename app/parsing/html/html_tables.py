"""Fills HTML tables whose cells extend over several rows or columns, so that every row has a cell in each column."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString

MOST_ADDED = 20_000
"""Cells that are added to the tables of a page; a cell may claim to extend over any number of rows."""
LONGEST_REPEATED = 200
"""Characters up to which a cell is repeated where it extends to; a longer one leaves blank cells there."""
MOST_COLUMNS = 1_000
"""Columns or rows over which a cell extends at most, as in browsers."""
_CELLS = ("td", "th")


def fill(soup: BeautifulSoup) -> None:
    """Fill the rows of all tables, and put their captions above them."""
    for caption in soup.find_all("caption"):
        if caption.parent is not None and caption.parent.name == "table":
            caption.name = "p"
            caption.parent.insert_before(caption.extract())
    rows: defaultdict[int, list[Tag]] = defaultdict(list)
    for row in soup.find_all("tr"):
        rows[_table_of(row)].append(row)
    left = MOST_ADDED
    for table in dict.fromkeys(_table_of(cell.parent) for cell in soup.find_all(_extends) if cell.parent is not None):
        filler = _Filler(soup, left)
        for row in rows[table]:
            filler.fill(row)
        left = filler.left
    for cell in soup.find_all(_extends):  # of tables beyond the limit
        _span(cell, "colspan")


def _table_of(row: Tag) -> int:
    """The identity of the table of a row, which may be in a group of rows."""
    parent = row.parent
    is_group = parent is not None and parent.name in ("tbody", "thead", "tfoot")
    return id(parent.parent if is_group and parent is not None else parent)


def _extends(element: Tag) -> bool:
    return element.name in _CELLS and ("rowspan" in element.attrs or "colspan" in element.attrs)


@dataclass(slots=True)
class _Filler:
    """Fills a table row by row. `above` has the cells that extend into the next row, and into how many, by column."""

    soup: BeautifulSoup
    left: int
    above: dict[int, tuple[Tag, int]] = field(default_factory=dict)

    def fill(self, element: Tag) -> None:
        """Fill the next row, so that it has a cell in each column."""
        if self.left <= 0:
            return
        row: list[Tag] = []
        cells = deque(cell.extract() for cell in element.find_all(_CELLS, recursive=False))
        is_heading = len(cells) == 1 and not self.above
        while cells or any(column >= len(row) for column in self.above):
            column = len(row)
            if column in self.above:
                cell, rows = self.above.pop(column)
                if rows > 1:
                    self.above[column] = cell, rows - 1
                row.append(self._repeated(cell))
            elif cells:
                self._place(cells.popleft(), row, is_heading=is_heading)
            else:
                row.append(self._added(""))
        element.extend(row)

    def _place(self, cell: Tag, row: list[Tag], *, is_heading: bool) -> None:
        """Put a cell at the end of a row. One that extends over all columns is a heading, and is not repeated."""
        width, rows = min(_span(cell, "colspan"), 1 + max(0, self.left)), _span(cell, "rowspan")
        if rows > 1:
            self.above |= {len(row) + offset: (cell, rows - 1) for offset in range(width)}
        row.append(cell)
        row.extend(self._added("") if is_heading else self._repeated(cell) for _ in range(width - 1))

    def _repeated(self, cell: Tag) -> Tag:
        """A cell with the text of another one; a blank one if that is long or has many elements."""
        inner = list(itertools.islice(cell.descendants, LONGEST_REPEATED))
        text = " ".join(" ".join(one for one in inner if isinstance(one, NavigableString)).split())
        is_short = len(text) <= LONGEST_REPEATED and len(inner) < LONGEST_REPEATED
        return self._added(text if is_short else "", cell.name)

    def _added(self, text: str, name: str = "td") -> Tag:
        self.left -= 1
        added = self.soup.new_tag(name)
        added.string = text
        return added


def _span(cell: Tag, name: str) -> int:
    """Over how many columns or rows a cell extends; the table is not filled again."""
    value = str(cell.attrs.pop(name, ""))
    return max(1, min(int(value), MOST_COLUMNS)) if value.isdecimal() and len(value) < 6 else 1
