"""Reads XLSX, XLSM, XLSB, XLS and ODS: each row of a sheet below the names of the columns is a document."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from python_calamine import CalamineSheet, CalamineWorkbook, PasswordError, SheetVisibleEnum

from app.errors import UnreadableFile
from app.parsing.files import ExtractedDocument, InputFile, LeftOut
from app.parsing.rows import records, sheet_parts, tables
from app.parsing.rows.records import Cell, RecordReader
from app.parsing.rows.sheet_parts import Place, SheetParts
from app.parsing.rows.tables import Table

_DIGITS = 15
"""Decimal digits that a spreadsheet computes with; those beyond are noise."""


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The rows of all visible sheets.

    Raises UnreadableFile, also where the library panics, as it does on some damaged files.
    """
    try:
        yield from _documents(file)
    except PasswordError as error:
        raise UnreadableFile("encrypted", "The file is protected by a password: save it without one.") from error
    except BaseException as error:  # a panic is no Exception, and its class cannot be imported
        if type(error).__name__ != "PanicException":
            raise
        raise UnreadableFile("damaged", "The file is damaged: save it again.") from error


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The values of all cells of each visible sheet, apart from the names of columns, which each document has."""
    workbook = CalamineWorkbook.from_filelike(io.BytesIO(raw))
    for name in _names(workbook, SheetVisibleEnum.Visible):
        sheet = workbook.get_sheet_by_name(name)
        table = _table([list(map(_value, cells)) for cells in sheet.to_python(skip_empty_area=False)], sheet, [])
        cells = (tables.show(cell) for _, row in table.rows for cell in row)
        yield f"sheet {name}", "\n".join((table.above, *cells))


def _documents(file: InputFile) -> Iterator[ExtractedDocument]:
    workbook = CalamineWorkbook.from_filelike(io.BytesIO(file.raw))
    parts, left_out = sheet_parts.read(file.raw)
    left_out += [LeftOut("hidden sheets", where=name) for name in _names(workbook, SheetVisibleEnum.Hidden)]
    found = _rows(file, workbook, parts, left_out)
    yield from records.annotate(found, "The sheets have no rows below the names of their columns.", left_out)


def _rows(
    file: InputFile, workbook: CalamineWorkbook, parts: Mapping[str, SheetParts], left_out: list[LeftOut]
) -> Iterator[ExtractedDocument]:
    """The rows of the visible sheets; what is left out of them is added to `left_out`."""
    reader = RecordReader(file.text_field)
    visible = _names(workbook, SheetVisibleEnum.Visible)
    for name in visible:
        sheet, part = workbook.get_sheet_by_name(name), parts.get(name, SheetParts())
        table = _table(_cells(sheet, part), sheet, part.merged)
        left_out += table.left_out
        shared = {"sheet": name} if len(visible) > 1 else {}
        found = reader.documents(_records(table, name), shared=shared | table.shared)
        first = next(found, None)
        if first is not None:
            yield first
            yield from found
        elif table.names:
            left_out.append(LeftOut("sheets of one row", " ".join(table.names), name))


def _names(workbook: CalamineWorkbook, visible: SheetVisibleEnum) -> list[str]:
    """The names of the sheets that are visible, or of those that are not."""
    is_visible = visible == SheetVisibleEnum.Visible
    sheets = workbook.sheets_metadata
    return [sheet.name for sheet in sheets if (sheet.visible == SheetVisibleEnum.Visible) == is_visible]


def _cells(sheet: CalamineSheet, parts: SheetParts) -> list[list[Any]]:
    return [
        [_cell(cell, (row, column), parts) for column, cell in enumerate(cells)]
        for row, cells in enumerate(sheet.to_python(skip_empty_area=False))
    ]


def _table(rows: list[list[Any]], sheet: CalamineSheet, merged: Sequence[tuple[Place, Place]]) -> Table:
    """The table in the rows of a sheet, in which a merged cell stands in each place that it covers."""
    spanned = set()
    for (top, left), (bottom, right) in (*(sheet.merged_cell_ranges or ()), *merged):
        for row in rows[top : bottom + 1] if left < sheet.total_width else ():
            row[left : right + 1] = [rows[top][left]] * len(row[left : right + 1])
        if right > left and right - left + 1 < sheet.total_width:
            spanned.add(top + 1)
    return tables.find(enumerate(rows, 1), spanned)


def _records(table: Table, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, cells in table.rows:
        if any(tables.show(cell) for cell in cells):
            yield f"row={number}&sheet={quote(name, safe='')}", dict(zip(table.names, cells, strict=True))


def _cell(cell: object, place: Place, parts: SheetParts) -> Any:
    if isinstance(cell, str):
        return cell or None
    value = _value(cell)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    text = parts.shown(place, value)
    return Cell(value, text) if text and text != str(value) else value


def _value(cell: object) -> Any:
    """A cell as a JSON value; None if it is empty."""
    if isinstance(cell, str):
        return cell or None
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else float(f"{cell:.{_DIGITS}g}")
    if isinstance(cell, datetime.time):
        return cell.isoformat("seconds" if cell.second else "minutes")
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return str(cell)
    return cell
