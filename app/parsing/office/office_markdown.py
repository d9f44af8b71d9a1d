"""Writes as Markdown what the library `anydoc` has read from an Office file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from anydoc import Block, Cell, CellSlot, Document, Inline, List, Table

from app.parsing import markdown_writer
from app.parsing.pages.pictures import Embedded
from app.parsing.types import LeftOut

PAGE = "\ue000"
"""A paragraph that begins a page. It is a character without a meaning in Unicode."""
CONTENTS = 5
"""Least number of lines in a table of contents that is left out."""
_ENTRY = re.compile(r"(?![#|])(?P<words>.{1,200}?)\W(?P<page>\d{1,4})")
_WORD = re.compile(r"[^\W_]+")
_GAP = re.compile(r"\n{3,}")
Grid = Sequence[Sequence[tuple[CellSlot, Cell | None]]]
_NUMBER = re.compile(r"\W*\d[\d\W]*")
_BLANKS = re.compile(r"[^\S\n]+")
_CROSSED_OUT = re.compile(r"\A(\s*+)(.*\S)(\s*)\Z", re.DOTALL)
_UPRIGHT = re.compile(r" ?\\mathrm\{(\\[A-Za-z]+|[^A-Za-z\\{}]+)\} ?")
"""An operator or number that a formula marks as upright. LaTeX writes all of them so."""


class Writer:
    """Writes the blocks of one document. Notes are written in parentheses at their references.

    `left_out` has the objects of other programs, which are not written.
    """

    def __init__(self, document: Document, embedded: Embedded) -> None:
        self._found = document.blocks
        self._assets = document.assets
        self._notes = {note.id: note for note in document.notes}
        self._embedded = embedded
        self.left_out: list[LeftOut] = []

    def pages(self) -> list[str]:
        """The Markdown of each page; of the whole document if it has no pages."""
        pages: list[list[str]] = [[]]
        for block in map(self._block, self._found):
            if block.removeprefix("## ") == PAGE:
                pages.append([])
            elif block:
                pages[-1].append(block)
        marked = pages[1:] or pages
        return ["\n\n".join(page) for page in marked]

    def _blocks(self, blocks: Iterable[Block]) -> str:
        return "\n\n".join(filter(None, map(self._block, blocks)))

    def _block(self, block: Block) -> str:
        """The Markdown of a block. Each attribute is read only once, because the library copies its value."""
        kind = block.kind
        if kind in ("heading", "paragraph"):
            text = self._text(block.content or ())
            if kind == "heading":
                return markdown_writer.heading(block.level or 1, text)
            return "\n\n".join(filter(None, map(markdown_writer.paragraph, _BLANKS.sub(" ", text).split("\n\n"))))
        if kind == "list" and (found := block.list) is not None:
            return "\n".join(self._list(found))
        if kind == "table" and (table := block.table) is not None:
            return self._table(table)
        if kind == "block_quote":
            return self._blocks(block.blocks or ())
        if kind == "code_block":
            return markdown_writer.code(block.text or "", block.lang or "")
        return f"$${_formula(block.text)}$$" if kind == "math" else ""

    def _list(self, found: List) -> Iterator[str]:
        """The lines of a list. Blocks in an item are indented."""
        kind = found.marker
        for number, item in enumerate(found.items, found.start):
            mark = "-" if kind == "bullet" else item.marker_label or markdown_writer.label(number, kind)
            blocks = item.blocks
            lines = itertools.chain.from_iterable(self._block(block).split("\n") for block in blocks)
            first, *others = list(filter(str.strip, lines)) or [""]
            is_outer = bool(blocks) and blocks[0].kind == "list"  # only indents the list in it
            yield f"  {first}" if is_outer else f"{mark} {first}"
            yield from (f"  {line}" for line in others)

    def _table(self, table: Table) -> str:
        """The Markdown of a table below its titles. One column, or a frame of other tables, is written as its cells."""
        grid = [[(slot, slot.cell) for slot in row] for row in table.grid]
        blocks = [[[] if cell is None else cell.blocks for _, cell in row] for row in grid]
        origins = sum(cell is not None for row in grid for _, cell in row)
        inner = sum(map(_count_cells, itertools.chain.from_iterable(blocks)))
        width = max(map(len, grid), default=0)
        if table.kind == "layout" or origins == 1 or width == 1 or inner > origins:
            return "\n\n".join(filter(None, map(self._blocks, itertools.chain.from_iterable(blocks))))
        texts = [list(map(self._cell, row)) for row in blocks]
        _fill(grid, texts)
        columns = _find_columns(grid, texts)
        rows = [[row[column] if column < len(row) else "" for column in columns] for row in texts if any(row)]
        titles = _count_titles(grid, texts)
        lines = [row[0] for row in rows[:titles]]
        if lines and len(lines[-1]) <= markdown_writer.LONGEST_REPEATED:
            lines[-1] = lines[-1].rstrip(" :") + ":"  # so that it is the caption of each part of the table
        below = titles + _count_names([row for row, text in zip(grid, texts, strict=True) if any(text)][titles:])
        head = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*rows[titles:below], strict=True)]
        written = markdown_writer.table([*filter(None, [head]), *rows[below:]])
        return "\n\n".join((*map(markdown_writer.paragraph, lines), written))

    def _cell(self, blocks: Iterable[Block]) -> str:
        """The text of a cell, without marks of headings. A table in it is on one line."""
        return "\n".join(filter(None, map(self._in_cell, blocks)))

    def _in_cell(self, block: Block) -> str:
        if block.kind in ("heading", "paragraph"):
            return self._text(block.content or ()).strip()
        if block.kind != "table" or (table := block.table) is None:
            return self._block(block)
        cells = ([cell for slot in row if (cell := slot.cell) is not None] for row in table.grid)
        return "; ".join(filter(None, (" ".join(self._cell(cell.blocks) for cell in row).strip() for row in cells)))

    def _text(self, inlines: Iterable[Inline]) -> str:
        """The text of a line. What is crossed out is marked, because it does not hold any more."""
        runs = itertools.groupby(inlines, _is_crossed_out)
        texts = (("".join(map(self._inline, run)), is_crossed_out) for is_crossed_out, run in runs)
        return "".join(_CROSSED_OUT.sub(r"\1~~\2~~\3", text) if crossed_out else text for text, crossed_out in texts)

    def _inline(self, inline: Inline) -> str:
        kind = inline.kind
        if kind == "text":
            return inline.text or ""
        if kind == "link":
            return self._text(inline.content or ())
        if kind == "note_ref":
            note = self._notes.pop(inline.note_id or "", None)  # written once, since notes may refer to each other
            return f" ({' '.join(self._blocks(note.blocks).split()) if note else inline.note_id or ''})"
        if kind == "image":  # its description, and the text on it
            return "".join(f"\n\n{text}\n\n" for text in self._picture(inline) if text)
        if kind == "checkbox":
            return "[x] " if inline.checked else "[ ] "
        return {"line_break": "\n", "math": f"${_formula(inline.text)}$"}.get(kind, "")

    def _picture(self, inline: Inline) -> Iterator[str]:
        """The description of a picture, and the text on it if it is in the file. Nothing for an object."""
        source = inline.source
        asset = self._assets[source.asset_id] if source is not None and source.asset_id is not None else None
        if asset is not None and not asset.media_type.startswith("image/"):
            self.left_out.append(LeftOut("embedded objects", where=inline.alt or asset.media_type))
            return
        yield markdown_writer.describe(inline.alt)
        if asset is not None:
            yield self._embedded.text(asset.data)


def _is_crossed_out(inline: Inline) -> bool:
    style = inline.style if inline.kind == "text" else None
    return style is not None and style.strike


def _formula(text: str | None) -> str:
    """A formula in LaTeX without marks around operators and numbers."""
    return _UPRIGHT.sub(r" \1 ", text or "").strip()


def _count_cells(blocks: Iterable[Block]) -> int:
    """The number of table cells in the blocks of a cell."""
    tables = (table for block in blocks if block.kind == "table" and (table := block.table) is not None)
    return sum(slot.cell is not None for table in tables for row in table.grid for slot in row)


def _count_titles(grid: Grid, texts: Sequence[Sequence[str]]) -> int:
    """The number of one-cell rows at the top of a table, if names of columns are below. Blank rows do not count."""
    found = [(row, text) for row, text in zip(grid, texts, strict=True) if any(text)]
    titles = len(list(itertools.takewhile(lambda one: _is_wide(one[0]), found)))
    names = list(filter(None, found[titles][1])) if titles < len(found) - 1 else []
    return titles if len(names) > 1 and not any(map(_NUMBER.fullmatch, names)) else 0


def _count_names(rows: Grid) -> int:
    """The number of rows with names of columns: as many as a cell of the first covers, if another covers columns."""
    cells = [cell for _, cell in rows[0] if cell is not None] if rows else []
    covered = max((cell.row_span for cell in cells), default=1)
    return covered if covered < len(rows) and any(cell.col_span > 1 for cell in cells) else 1


def _is_wide(row: Sequence[tuple[CellSlot, Cell | None]]) -> bool:
    cell = row[0][1] if len(row) > 1 else None
    return cell is not None and cell.col_span >= len(row)


def _fill(grid: Grid, texts: list[list[str]]) -> None:
    """Repeat the text of a merged cell in the cells that it covers, unless it is as wide as the table, or long."""
    for number, row in enumerate(grid):
        for column, (slot, cell) in enumerate(row):
            if cell is not None or slot.origin_row is None or slot.origin_col is None:
                continue
            origin = grid[slot.origin_row][slot.origin_col][1]
            text = texts[slot.origin_row][slot.origin_col]
            if origin is not None and origin.col_span < len(row) and len(text) <= markdown_writer.LONGEST_REPEATED:
                texts[number][column] = text


def _find_columns(grid: Grid, texts: Sequence[list[str]]) -> list[int]:
    """The columns in which a row has a text of a cell that is not also in the column before or after.

    The others only exist because the borders of cells differ a little from row to row. A text that is only in such a
    column moves to the next one.
    """
    found: list[int] = []
    owners = [
        [(number, column) if cell is not None else _find_owner(slot) for column, (slot, cell) in enumerate(row)]
        for number, row in enumerate(grid)
    ]
    for column in range(max(map(len, grid), default=0)):
        rows = ((row, texts[number]) for number, row in enumerate(owners) if column < len(row))
        beside = (column + 1, *found[-1:])
        if any(text[column] and all(row[column] != row[at] for at in beside if at < len(row)) for row, text in rows):
            found.append(column)
            continue
        for row, text in zip(owners, texts, strict=True):
            if column + 1 < len(row) and row[column] == row[column + 1]:
                text[column + 1] = text[column + 1] or text[column]
    return found


def _find_owner(slot: CellSlot) -> tuple[int | None, int | None]:
    """The place of the cell that covers this one."""
    return slot.origin_row, slot.origin_col


def remove_contents_tables(text: str) -> tuple[str, list[LeftOut]]:
    """Removes tables of contents: lines with the headings that follow and with growing page numbers."""
    lines = text.split("\n")
    headings = {_words(line): place for place, line in enumerate(lines) if line.startswith("#")}
    pages: dict[int, int] = {}
    for place, line in enumerate(lines):
        found = _ENTRY.fullmatch(line)
        if found and (words := _words(found["words"])) and headings.get(words, 0) > place:
            pages[place] = int(found["page"])
    filled = (place for place, line in enumerate(lines) if line)
    runs = [list(run) for is_entry, run in itertools.groupby(filled, pages.__contains__) if is_entry]
    runs = [run for run in runs if len(run) >= CONTENTS and run == sorted(run, key=pages.__getitem__)]
    left = {place for run in runs for place in run}
    rest = "\n".join(line for place, line in enumerate(lines) if place not in left)
    contents = "\n".join(lines[place] for place in sorted(left))
    return (_GAP.sub("\n\n", rest).strip("\n"), [LeftOut("the table of contents", contents)]) if left else (text, [])


def _words(line: str) -> str:
    """The words of a line, without the number before them: not all programs write it."""
    return " ".join(itertools.dropwhile(str.isdecimal, _WORD.findall(line.casefold())))
