"""Finds the names of the columns of a table. They may be below titles and comments, and on several rows."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.parsing.types import ExtractedDocument, LeftOut

SAMPLE = 50
"""Number of rows that determine where the names are."""
_BELOW = 20
"""One of this many rows below the name of a group has a number."""
LONGEST_TITLE = 200
"""Lines above the names with at most this many characters are metadata of each row."""
_NUMBER = re.compile(r"[-+(]?[^\w\s]?\s?\d[\d.,:/%\s-]*\)?\s?[^\w\s]?")
_YEAR = re.compile(r"(?:19|20)\d\d")
Row = tuple[int, Sequence[Any]]
"""The number of a row in its file, and its cells."""


class Unnamed(str):
    """The number of a column without a name. It is the key in metadata; texts do not show it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Table:
    """The names of the columns, the rows below them, and the lines above them.

    `heads` has the names as they are in the table, some blank or repeated.
    """

    names: list[str]
    rows: Iterator[Row]
    heads: Sequence[str] = ()
    above: str = ""
    first: int = 1

    @property
    def shared(self) -> dict[str, str]:
        """The lines above the names, which are in text and metadata of each row; empty if they are long."""
        return {"table": self.above} if 0 < len(self.above) <= LONGEST_TITLE else {}

    def read(self, left_out: list[LeftOut], sheet: str = "") -> Iterator[Row]:
        """The rows. After the last one, the columns with a name but no value are in `left_out`, if others have one."""
        blank = set(self.names)
        for number, row in self.rows:
            if blank:
                blank.difference_update([name for name, cell in zip(self.names, row, strict=False) if show(cell)])
            yield number, row
        if len(blank) < len(self.names):
            own = (name for name, head in zip(self.names, self.heads, strict=True) if name == " ".join(head.split()))
            found = (f"{sheet} {name}".strip() for name in own if name in blank)
            left_out += [LeftOut("columns without a value", where=name) for name in found]

    def introduction(self, place: str, shared: Mapping[str, Any]) -> Iterator[ExtractedDocument]:
        """A document of the lines above the names if they are several, such as the fields of a form, or long."""
        if "\n" in self.above or len(self.above) > LONGEST_TITLE:
            yield ExtractedDocument(self.above, metadata=dict(shared), fragment=place, markdown=False)


def find(rows: Iterable[Row], spanned: Collection[int] = ()) -> Table:
    """Finds the table in rows. `spanned` has the numbers of rows with a cell over several, but not all, columns."""
    numbered = iter(rows)
    sample = [row for row in itertools.islice(numbered, SAMPLE) if _filled(row[1])]
    if not sample:
        return Table([], iter(()))
    place = _place(sample, spanned)
    number, cells = sample[place]
    names, below = list(map(show, cells)), place + 1
    while _is_group(sample, below - 1, spanned) and (below == place + 1 or sample[below - 1][0] in spanned):
        names, below = _join(names, list(map(show, sample[below][1]))), below + 1
    lines = [" ".join(dict.fromkeys(_filled(cells).values())) for _, cells in sample[:place]]
    return Table(columns(names), itertools.chain(sample[below:], numbered), names, "\n".join(lines), number)


def split(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[int, int]]:
    """The places of the first row of each table of a sheet, and of the row after its last."""
    first = 0
    for place in range(3, len(rows) - 1):
        if not any(map(show, rows[place - 1])) and _begins_table(rows, first, place):
            yield first, place
            first = place
    yield first, len(rows)


def _begins_table(rows: Sequence[Sequence[Any]], first: int, place: int) -> bool:
    """Whether other names are below a blank row, with a title or in another number, and numbers above and below them.

    Names below a form are found by `find`.
    """
    above = list(filter(None, map(_filled, rows[max(first, place - SAMPLE) : place])))
    has_title = len(_filled(rows[place])) == 1
    names, below = map(_filled, [*rows[place + has_title : place + has_title + 2], []][:2])
    if len(above) < 2 or not 1 < len(names) == len(set(names.values())) < _least_below_form(above):
        return False
    is_other = has_title or len(names) != len(above[0])
    numbers = (any(map(_is_number, row.values())) for row in (names, below))
    return is_other and list(numbers) == [False, True] and any(_is_number(above[-1].get(name, "")) for name in names)


def columns(names: Sequence[str]) -> list[str]:
    """The names of columns. Blank and repeated names get the number of the column."""
    found: list[str] = []
    taken: set[str] = set()
    for number, name in enumerate(names, 1):
        stripped = " ".join(name.split())
        unique = stripped or str(number)
        while unique in taken:
            unique = f"{unique} {number}"
        found.append(unique if stripped else Unnamed(unique))
        taken.add(unique)
    return found


def show(cell: object) -> str:
    """A cell as text; empty for none."""
    return "" if cell is None else str(cell).strip()


def _filled(cells: Sequence[Any]) -> dict[int, str]:
    """The texts of the cells that are not blank, by their column."""
    return {column: text for column, cell in enumerate(cells) if (text := show(cell))}


def _place(sample: Sequence[Row], spanned: Collection[int]) -> int:
    """The place of the first row that is not a comment or title; the first row if there is none."""
    found = [_filled(cells) for _, cells in sample]
    counts = Counter(map(len, found))
    width = max(counts, key=lambda count: (counts[count], count))
    for place, row in enumerate(found):
        first = row.get(0, "")
        if first.startswith("# ") or (first.startswith("#") and len(row) < width):  # a comment
            continue
        if _is_group(sample, place, spanned) or not _is_title(row, found[place + 1 :], width):
            return _begin_below_form(sample, found, place) or (place if place + 1 < len(found) else 0)
    return 0


def _begin_below_form(sample: Sequence[Row], found: Sequence[dict[int, str]], place: int) -> int:
    """The place of a table's names below a form: below a blank row and wider than all above it; 0 if none."""
    for later in range(place + 1, len(found) - 1):
        names, is_apart = found[later].values(), sample[later][0] - sample[later - 1][0] > 1
        if not is_apart or len(names) < _least_below_form(found[:later]) or len(names) > len(set(names)):
            continue
        if not any(map(_is_number, names)) and any(map(_is_number, found[later + 1].values())):
            return later
    return 0


def _least_below_form(above: Sequence[dict[int, str]]) -> int:
    """The least number of names below a form: two more than its rows have cells, or one if its first has a number."""
    has_number = any(map(_is_number, above[0].values()))
    return max(len(set(row.values())) for row in above) + (1 if has_number else 2)


def _is_title(row: dict[int, str], below: Sequence[dict[int, str]], width: int) -> bool:
    """Whether a row is a title of the table: one cell, or at most half as wide as the names below it."""
    following = next((one for one in below if len(one) > len(set(row.values()))), None)
    if 0 not in row or following is None:
        return False
    if width == 2:
        return len(row) == 1 and not any(map(_is_number, following.values()))
    is_one_cell = len(set(row.values())) == 1 and max(row) - min(row) + 1 == len(row)
    return is_one_cell or (2 * len(row) <= width and not any(map(_is_number, following.values())))


def _is_group(sample: Sequence[Row], place: int, spanned: Collection[int]) -> bool:
    """Whether a row has the names of groups of columns: there are names below it, and numbers below the names.

    Below merged cells there may be words, or years as names: the first column, or one that is merged downwards, shows
    that the names are on two rows. One merged cell from the first column on is a title.
    """
    if place + 2 >= len(sample):
        return False
    row, names = _filled(sample[place][1]), _filled(sample[place + 1][1])
    is_spanned = sample[place][0] in spanned
    are_two = (0 in row) != (0 in names) or any(row.get(column) == name for column, name in names.items())
    if any(_is_number(name) and not (is_spanned and are_two and _YEAR.fullmatch(name)) for name in names.values()):
        return False
    below = (_filled(cells).values() for _, cells in sample[place + 2 : place + _BELOW])
    has_numbers = any(map(_is_number, itertools.chain.from_iterable(below)))
    is_title = 0 in row and len(set(row.values())) == 1
    if is_spanned:
        return not is_title and (has_numbers or are_two)
    first = min(names)
    repeats = len(set(names.values())) < len(names) and not is_title
    is_apart = not names.keys() <= row.keys()
    return has_numbers and is_apart and (0 not in row or first > 0 or row[0] == names[0] or repeats)


def _join(groups: Sequence[str], names: Sequence[str]) -> list[str]:
    """Joins the names of columns with the names of their groups. A group's name is only above its first column."""
    found, group = [], ""
    for above, name in itertools.zip_longest(groups, names, fillvalue=""):
        group = above or (group if name else "")
        found.append(" ".join(dict.fromkeys(filter(None, (group, name)))))
    return found


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None
