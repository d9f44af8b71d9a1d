"""Writes the document that the library of Office files returns as Markdown."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from anydoc import Block, Cell, CellSlot, Document, Inline, List, Table

from app.parsing import markup
from app.parsing.files import LeftOut
from app.parsing.pages.pictures import Embedded

PAGE = "\ue000"
"""A paragraph that begins a page, of a character that has no meaning in Unicode."""
LONGEST_REPEATED = 200
"""Characters of the longest text of a merged cell that is repeated in each cell that it covers."""
_BLANKS = re.compile(r"[^\S\n]+")


class Writer:
    """Writes the blocks of one document. Its notes are in parentheses where it refers to them.

    `left_out` has what is not written: objects of other programs.
    """

    def __init__(self, document: Document, embedded: Embedded) -> None:
        self._found = document.blocks
        self._assets = document.assets
        self._notes = {note.id: note for note in document.notes}
        self._embedded = embedded
        self.left_out: list[LeftOut] = []

    def pages(self) -> list[str]:
        """The Markdown of each page; of the whole document if it has none."""
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
        """The Markdown of a block. The library copies what an attribute has, so that each is read once."""
        kind = block.kind
        if kind in ("heading", "paragraph"):
            text = self._text(block.content or ())
            if kind == "heading":
                return markup.heading(block.level or 1, text)
            return "\n\n".join(filter(None, map(markup.paragraph, _BLANKS.sub(" ", text).split("\n\n"))))
        if kind == "list" and (found := block.list) is not None:
            return "\n".join(self._list(found))
        if kind == "table" and (table := block.table) is not None:
            return self._table(table)
        if kind == "block_quote":
            return self._blocks(block.blocks or ())
        if kind == "code_block":
            return markup.code(block.text or "", block.lang or "")
        return f"$${block.text}$$" if kind == "math" else ""

    def _list(self, found: List) -> Iterator[str]:
        """The lines of a list; what is in an item is indented."""
        is_bullet = found.marker == "bullet"
        for number, item in enumerate(found.items, found.start):
            mark = "-" if is_bullet else item.marker_label or f"{number}."
            lines = itertools.chain.from_iterable(self._block(block).split("\n") for block in item.blocks)
            first, *others = list(filter(str.strip, lines)) or [""]
            yield f"{mark} {first}"
            yield from (f"  {line}" for line in others)

    def _table(self, table: Table) -> str:
        grid = [[(slot, slot.cell) for slot in row] for row in table.grid]
        origins = [cell for row in grid for _, cell in row if cell is not None]
        if table.kind == "layout" or len(origins) == 1:
            return "\n\n".join(filter(None, (self._blocks(cell.blocks) for cell in origins)))
        texts = [["" if cell is None else self._blocks(cell.blocks) for _, cell in row] for row in grid]
        _fill(grid, texts)
        width = max(map(len, texts))
        return markup.table([[*row, *[""] * (width - len(row))] for row in texts])

    def _text(self, inlines: Iterable[Inline]) -> str:
        return "".join(map(self._inline, inlines))

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
            paragraphs = (markup.describe(inline.alt), self._text_on(inline))
            return "".join(f"\n\n{text}\n\n" for text in paragraphs if text)
        if kind == "checkbox":
            return "[x] " if inline.checked else "[ ] "
        return {"line_break": "\n", "math": f"${inline.text}$"}.get(kind, "")

    def _text_on(self, inline: Inline) -> str:
        """The text on a picture; empty for one that is not in the file."""
        source = inline.source
        if source is None or source.asset_id is None:
            return ""
        asset = self._assets[source.asset_id]
        if not asset.media_type.startswith("image/"):
            self.left_out.append(LeftOut("embedded objects", where=inline.alt or asset.media_type))
            return ""
        return self._embedded.text(asset.data)


def _fill(grid: Sequence[Sequence[tuple[CellSlot, Cell | None]]], texts: list[list[str]]) -> None:
    """Repeat the text of a merged cell in the cells that it covers, unless it is as wide as the table, or long."""
    for number, row in enumerate(grid):
        for column, (slot, cell) in enumerate(row):
            if cell is not None or slot.origin_row is None or slot.origin_col is None:
                continue
            origin = grid[slot.origin_row][slot.origin_col][1]
            text = texts[slot.origin_row][slot.origin_col]
            if origin is not None and origin.col_span < len(row) and len(text) <= LONGEST_REPEATED:
                texts[number][column] = text
