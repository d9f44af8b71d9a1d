"""Reads XLSX, XLSM, XLSB, XLS and ODS: each row of a sheet below its first is a document."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from python_calamine import CalamineSheet, CalamineWorkbook, PasswordError, SheetVisibleEnum

from app.errors import UnreadableFile
from app.parsing import csv_rows
from app.parsing.files import ExtractedDocument, InputFile
from app.parsing.records import RecordReader


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The rows of all visible sheets; the first row with values names the columns.

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


def _documents(file: InputFile) -> Iterator[ExtractedDocument]:
    workbook = CalamineWorkbook.from_filelike(io.BytesIO(file.raw))
    visible = [sheet.name for sheet in workbook.sheets_metadata if sheet.visible == SheetVisibleEnum.Visible]
    reader = RecordReader(file.text_field)
    found = False
    for name in visible:
        sheet = workbook.get_sheet_by_name(name)
        for document in reader.documents(_records(sheet, name), shared={"sheet": name} if len(visible) > 1 else {}):
            found = True
            yield document
    if not found:
        raise UnreadableFile("no_text", "The sheets have no rows below the names of their columns.")


def _records(sheet: CalamineSheet, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    header: list[str] | None = None
    for number, cells in enumerate(sheet.to_python(skip_empty_area=False), 1):
        values = [_value(cell) for cell in cells]
        if all(value is None for value in values):
            continue
        if header is None:
            header = _header(values)
        else:
            yield f"row={number}&sheet={quote(name, safe='')}", dict(zip(header, values, strict=True))


def _header(values: Sequence[Any]) -> list[str]:
    return csv_rows.columns(["" if value is None else str(value) for value in values])


def _value(cell: object) -> Any:
    """A cell as a JSON value; None if it is empty."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return str(cell)
    return None if cell == "" else cell
