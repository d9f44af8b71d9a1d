"""Reads XLSX, XLSM, XLSB, XLS and ODS: each row of a sheet below the names of the columns is a document.

The library, calamine, does not return number formats and merged cells of ODS, which are read here; those of XLSB and
XLS are read by anydoc. Comments, charts and text boxes are reported as left out.
"""

from __future__ import annotations

import bisect
import datetime
import html
import io
import itertools
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import quote

import anydoc
from python_calamine import CalamineSheet, CalamineWorkbook, PasswordError, SheetVisibleEnum

from app.errors import UnreadableFile
from app.parsing import markdown_writer, types, zip_packages
from app.parsing.office import word_and_slides
from app.parsing.rows import header_rows
from app.parsing.rows.header_rows import Table
from app.parsing.rows.records import Cell, RecordReader
from app.parsing.types import ExtractedDocument, InputFile, LeftOut

_DIGITS = 15
"""Decimal digits that a spreadsheet computes with. Further digits are noise."""
_REFERENCE = re.compile(rb'\br="([A-Z]{1,3})(\d{1,7})"')
_NO_RESULT = re.compile(
    rb"<(?:\w+:)?c\b([^<>]*)>\s*<(?:\w+:)?f\b(?:[^<>]*/>|[^<]*</(?:\w+:)?f>)\s*(?:<(?:\w+:)?v\s*(?:/>|></(?:\w+:)?v>)\s*)?</(?:\w+:)?c>"
)
_ERROR = re.compile(rb'<(?:\w+:)?c\b(?=[^<>]*?\bt="e")([^<>]*+)>')
_EMPTY_TEXT = b't="str"'
"""The kind of a formula's result that is a text, which may be empty."""
_PRINTED = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)\b[^<>]*>([^<]+)<")
_PRINT_SECTION, _PRINT_CODE = re.compile(r"(?<!&)&[LCR]"), re.compile(r'&(?:"[^"]*"|\d{1,3}|[A-Z])')
_LONGEST_NAME = 60
_DRAWING = re.compile(r"xl/drawings/drawing\d+\.xml")
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_NUMBERS = frozenset({"float", "percentage", "currency"})
_DURATION = re.compile(r"(-?)PT(\d{2,5}H\d{1,2}M\d{1,2})(?:[.,]\d+)?S")
"""A time of a day or more, as the library returns it from ODS."""
_ROW, _CELLS = f"{_TABLE}table-row", (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
_TEXTS = re.compile(r"content\.xml|xl/(?:sharedStrings|worksheets/[^/]+)\.xml")
"""The parts that may have the texts of cells."""
_MOST_SHOWN = 100_000
"""Cells of XLSB and XLS whose texts are read: more would take too much memory."""
_LOOK = rb"(?:<(?!/?(?:\w+:)?[rt]\b)(?![^<>]*superscript)[^<>]*+>)*+"
_RUN = rb"</(?:\w+:)?t></(?:\w+:)?r><(?:\w+:)?r>" + _LOOK
_BEGIN = rb"<(?:\w+:)?t\b[^<>]*+>"
_RAISED = re.compile(
    rb"([^<>]{1,8})(%s<[^<>]*\"superscript\"[^<>]*+>%s%s)([^<>]{1,8})(?=<)(?=(?:%s%s([^<>]{0,2}))?)"
    % (_RUN, _LOOK, _BEGIN, _RUN, _BEGIN)
)
"""A text in a cell, and the raised text after it."""
Place = tuple[int, int]
"""The row and the column of a cell, from 0."""
BUILT_IN = {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 37: "#,##0", 39: "#,##0.00"}
"""Formats that a workbook names by a number only (ECMA-376, part 1, 18.8.30)."""
_SKIPPED = re.compile(r"_.|\*.|\[[A-Za-z][^\]]*\]")
"""Blanks as wide as a character, fillers and colours."""
_CURRENCY = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_FORMAT = re.compile(
    r"(?P<before>[^#0?%]*)(?P<whole>(?:[#0?][\uE000-\uE0FF() ,-]*)*[#0?])(?:\.(?P<part>[0#?]+))?"
    r"(?P<percent>\s?%)?(?P<after>[^#0?%,]*)"
)
_TEXT = re.compile(r'"([^"]*)"|\\(.)')
_FIRST_MARK = 0xE000
"""The first character of the private use area. While a format is read, such a character stands for each text in it."""
_LARGEST, _MOST_PLACES, _LONGEST_CODE = 1e15, 10, 255
"""The largest number and the most decimal places that a spreadsheet shows exactly, and its longest format."""
_UNKNOWN = re.compile(r"[ymdhseg/\[]", re.IGNORECASE)
"""Marks of dates, fractions and conditions."""
_MINUS, _PARENTHESES = re.compile("[-\N{MINUS SIGN}]"), re.compile(r"\(([^()]*\d[^()]*)\)")


@dataclass(slots=True)
class ShownTexts:
    """How a sheet shows numbers: the texts by column of each row, or of the first of equal rows, from `starts` on."""

    starts: list[int] = field(default_factory=list)
    rows: list[dict[int, str]] = field(default_factory=list)

    def get(self, place: Place) -> str | None:
        """The text of a cell; None if it is unknown."""
        row = bisect.bisect_right(self.starts, place[0]) - 1
        return self.rows[row].get(place[1]) if row >= 0 else None


@dataclass(frozen=True, slots=True)
class SheetParts:
    """How a sheet shows numbers, as formats or as texts, and the first and last places of its merged cells."""

    codes: Mapping[Place, str] = field(default_factory=dict)
    texts: ShownTexts = field(default_factory=ShownTexts)
    merged: list[tuple[Place, Place]] = field(default_factory=list)


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The rows of all visible sheets.

    Raises UnreadableFile. The library panics on some damaged files; this is raised for them too.
    """
    try:
        workbook = _open(file.raw)
        parts, left_out = _read_parts(file.raw, workbook)
        left_out += [LeftOut("hidden sheets", where=name) for name in _names(workbook, are_visible=False)]
        nothing = "The sheets have no cells with text or numbers."
        yield from types.annotate(_rows(file, workbook, parts, left_out), nothing, left_out=left_out)
    except PasswordError as error:
        raise UnreadableFile("encrypted", zip_packages.PROTECTED) from error
    except BaseException as error:  # a panic is no Exception, and its class cannot be imported
        if type(error).__name__ != "PanicException":
            raise
        raise UnreadableFile("damaged", "The file is damaged: save it again.") from error


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The values of all cells of each visible sheet, without the names of columns: each document repeats those."""
    workbook = _open(raw)
    for name in _names(workbook, are_visible=True):
        sheet = workbook.get_sheet_by_name(name)
        rows = [list(map(_value, cells)) for cells in sheet.to_python(skip_empty_area=False)]
        table = _table(rows, sheet.merged_cell_ranges or ())
        cells = (header_rows.show(cell) for _, row in table.rows for cell in row)
        yield f"sheet {name}", "\n".join((table.above, *cells))


def _open(raw: bytes) -> CalamineWorkbook:
    """The workbook, with raised numbers apart from the numbers before them: the library joins 10 and its exponent."""
    changed: dict[str, Any] = {}
    if raw.startswith(b"PK"):
        with zip_packages.open_archive(raw) as archive:
            for name in filter(_TEXTS.fullmatch, archive.namelist()):
                if b"super" not in (part := archive.read(name)):
                    continue
                is_open_document = name == "content.xml"
                changed[name] = (
                    word_and_slides.separate_raised_spans(zip_packages.xml(part))
                    if is_open_document
                    else _RAISED.sub(_separate, part)
                )
    return CalamineWorkbook.from_filelike(io.BytesIO(zip_packages.replace_parts(raw, changed)))


def _separate(found: re.Match[bytes]) -> bytes:
    """A raised text and the text before it. A raised number is kept apart from digits before it."""
    before, raised, after = ((part or b"").decode(errors="replace") for part in found.group(1, 3, 4))
    return found[1] + found[2] + markdown_writer.separate_raised(before, raised, after).encode()


def _rows(
    file: InputFile, workbook: CalamineWorkbook, parts: Mapping[str, SheetParts], left_out: list[LeftOut]
) -> Iterator[ExtractedDocument]:
    """The rows of the visible sheets and the long lines above their tables. A sheet of one row is one document.

    Adds the columns without a value to `left_out`.
    """
    reader = RecordReader(file.text_field)
    visible = _names(workbook, are_visible=True)
    for name in visible:
        suffix = f"&sheet={quote(name, safe='')}"
        shared = {"sheet": name} if len(visible) > 1 else {}
        for place, table in _tables(workbook.get_sheet_by_name(name), parts.get(name, SheetParts())):
            rows = (
                (f"row={number}{suffix}", dict(zip(table.names, row, strict=True)))
                for number, row in table.read(left_out, name)
                if any(map(header_rows.show, row))
            )
            yield from table.introduction(f"row={place + 1}{suffix}", shared)
            found = reader.documents(rows, shared=shared | table.shared)
            first = next(found, None)
            if first is not None:
                yield first
                yield from found
            elif any(table.heads):
                text = "\n".join(filter(None, table.heads))
                yield ExtractedDocument(text, metadata=shared, fragment=f"row={table.first}{suffix}", markdown=False)


def _names(workbook: CalamineWorkbook, *, are_visible: bool) -> list[str]:
    """The names of the visible sheets, or of the hidden ones."""
    sheets = workbook.sheets_metadata
    return [sheet.name for sheet in sheets if (sheet.visible == SheetVisibleEnum.Visible) == are_visible]


def _tables(sheet: CalamineSheet, part: SheetParts) -> Iterator[tuple[int, Table]]:
    """The tables of a sheet, each with the place of its first row."""
    cells = [
        [_cell(cell, (row, column), part) for column, cell in enumerate(cells)]
        for row, cells in enumerate(sheet.to_python(skip_empty_area=False))
    ]
    ranges = sorted([*(sheet.merged_cell_ranges or ()), *part.merged])
    tops = [top for (top, _left), _end in ranges]
    for first, last in header_rows.split(cells):
        own = ranges[bisect.bisect_left(tops, first) : bisect.bisect_left(tops, last)]
        yield first, _table(cells[first:last], own, first)


def _table(rows: list[list[Any]], merged: Sequence[tuple[Place, Place]], first: int = 0) -> Table:
    """Finds the table in the rows of a sheet, which begin at the place `first`.

    The value of a merged cell is repeated in each place that it covers. In the rows of the table, it stands once in
    columns with the same or no name, and if it is long or spans the sheet.
    """
    width = max(map(len, rows), default=0)  # not total_width, which does not count the last column
    places = (((top - first, left), (bottom - first, right)) for (top, left), (bottom, right) in merged)
    ranges = [place for place in places if place[0][0] < len(rows) and place[0][1] < width]
    spanned = set()
    for (top, left), (bottom, right) in ranges:
        for row in rows[top : bottom + 1]:
            row[left : right + 1] = [rows[top][left]] * len(row[left : right + 1])
        if right > left and right - left + 1 < width:
            spanned.add(first + top + 1)
    table = header_rows.find(enumerate(rows, first + 1), spanned)
    for (top, left), (bottom, right) in ranges:
        is_long = len(header_rows.show(rows[top][left])) > markdown_writer.LONGEST_REPEATED
        is_wide = is_long or right - left + 1 >= width
        seen = {""}
        for column in range(left, min(right + 1, len(table.heads))):
            head = table.heads[column]
            if column > left and (is_wide or head in seen):
                for row in rows[max(top, table.first - first) : bottom + 1]:
                    row[column] = None
            seen.add(head)
    return table


def _cell(cell: object, place: Place, parts: SheetParts) -> Any:
    value = _value(cell)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    text = parts.texts.get(place) or ""
    if not any(map(str.isdigit, text)):  # a dash for zero would hide the number
        text = show_number(value, parts.codes.get(place, ""))
    elif value < 0 and not _MINUS.search(text):  # only its colour or parentheses say that it is negative
        text = "-" + _PARENTHESES.sub(r"\1", text).strip()
    return Cell(value, text) if text and text != str(value) else value


def _value(cell: object) -> Any:
    """A cell as a JSON value; None if it is empty."""
    if isinstance(cell, str):
        duration = _DURATION.fullmatch(cell)
        return _show_time(duration[1], *map(int, re.split("[HM]", duration[2]))) if duration else cell or None
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else float(f"{cell:.{_DIGITS}g}")
    if isinstance(cell, datetime.time):
        return cell.isoformat("seconds" if cell.second else "minutes")
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        minutes, seconds = divmod(round(abs(cell.total_seconds())), 60)
        return _show_time("-" if cell.days < 0 else "", minutes // 60, minutes % 60, seconds)
    return cell


def _show_time(sign: str, hours: int, minutes: int, seconds: int) -> str:
    return f"{sign}{hours}:{minutes:02}" + f":{seconds:02}" * (seconds > 0)


def _read_parts(raw: bytes, workbook: CalamineWorkbook) -> tuple[Mapping[str, SheetParts], list[LeftOut]]:
    """The parts of each sheet by its name, and what is left out, which is unknown for XLSB and XLS."""
    if not raw.startswith(b"PK"):
        return _shown_texts(raw, workbook), []
    with zip_packages.open_archive(raw) as archive:
        names = set(archive.namelist())
        if "content.xml" in names:
            return _opendocument(archive.read("content.xml"))
        if "xl/workbook.xml" not in names:
            return _shown_texts(raw, workbook), []
        left_out = [
            LeftOut("charts", text, text.partition("\n")[0][:_LONGEST_NAME]) for text in word_and_slides.charts(archive)
        ]
        drawings = (zip_packages.xml(archive.read(name)) for name in names if _DRAWING.fullmatch(name))
        boxes = itertools.chain.from_iterable(drawing.iter("{*}txBody") for drawing in drawings)
        left_out += _text_boxes(" ".join(line.text or "" for line in box.iter("{*}t")) for box in boxes)
        parts: dict[str, SheetParts] = {}
        codes = _codes(archive)
        targets = zip_packages.targets(archive, "xl/workbook.xml")
        for element in zip_packages.xml(archive.read("xl/workbook.xml")).iter("{*}sheet"):
            sheet, (_kind, part) = element.get("name", ""), targets.get(element.get(zip_packages.RELATION), ("", ""))
            if part in names:
                raw_sheet = archive.read(part)
                parts[sheet] = SheetParts(_styled(raw_sheet, codes))
                left_out += itertools.chain(_no_results(raw_sheet, sheet), _printed(raw_sheet, sheet))
                left_out += _comments(archive, part, sheet)
        return parts, left_out


def _shown_texts(raw: bytes, workbook: CalamineWorkbook) -> Mapping[str, SheetParts]:
    """The numbers of XLSB and XLS as another library shows them.

    It leaves out hidden rows and columns. If merged cells beyond the values make up for them, an edge is blank.
    """
    visible = map(workbook.get_sheet_by_name, _names(workbook, are_visible=True))
    sheets = [sheet for sheet in visible if sheet.height]
    if sum(sheet.height * sheet.width for sheet in sheets) > _MOST_SHOWN:
        return {}
    parts = {}
    with suppress(anydoc.ConvertError, ValueError):
        grids = [table.grid for block in anydoc.to_document(raw).blocks if (table := block.table) is not None]
        for sheet, grid in list(zip(sheets, grids, strict=True)):
            texts = [list(map(_text, row)) for row in grid]
            columns = list(zip(*texts, strict=True))
            is_whole = (len(texts), len(columns)) == (sheet.height, sheet.width)
            if sheet.start is not None and is_whole and all(map(any, (texts[0], texts[-1], columns[0], columns[-1]))):
                top, left = sheet.start
                rows = [dict(enumerate(row, left)) for row in texts]
                parts[sheet.name] = SheetParts(texts=ShownTexts(list(range(top, top + len(rows))), rows))
    return parts


def _text(slot: anydoc.CellSlot) -> str:
    blocks = slot.cell.blocks if slot.cell else ()
    return "".join(inline.text or "" for block in blocks for inline in block.content or ())


def _codes(archive: zipfile.ZipFile) -> dict[bytes, str]:
    """The number formats, by the number of their style. Omits formats that show a number unchanged."""
    if "xl/styles.xml" not in archive.namelist():
        return {}
    styles = zip_packages.xml(archive.read("xl/styles.xml"))
    codes = {str(number): code for number, code in BUILT_IN.items()}
    codes |= {one.get("numFmtId"): one.get("formatCode", "") for one in styles.iter("{*}numFmt")}
    formats = (one.get("numFmtId") for one in styles.iterfind("{*}cellXfs/{*}xf"))
    return {str(n).encode(): codes[id] for n, id in enumerate(formats) if show_number(1, codes.get(id, ""))}


def _styled(sheet: bytes, codes: Mapping[bytes, str]) -> dict[Place, str]:
    """The formats of the cells of a sheet that have one of these styles."""
    found: dict[Place, str] = {}
    styled = rb'<(?:\w+:)?c\b(?=[^<>]*?\bs="(' + b"|".join(codes) + rb')")[^<>]*+>'
    for cell in re.finditer(styled, sheet) if codes else ():
        if (reference := _REFERENCE.search(cell[0])) is not None:
            column = 0
            for letter in reference[1]:
                column = 26 * column + letter - ord("A") + 1
            found[int(reference[2]) - 1, column - 1] = codes[cell[1]]
    return found


def _no_results(sheet: bytes, name: str) -> Iterator[LeftOut]:
    """The formulas without a result in the file, which some programs write, and the cells with an error."""
    unknown = (cell[1] for cell in _NO_RESULT.finditer(sheet) if _EMPTY_TEXT not in cell[1])
    wrong = (cell[1] for cell in _ERROR.finditer(sheet))
    for kind, cells in (("formulas without a result in the file", unknown), ("cells with an error", wrong)):
        for reference in filter(None, map(_REFERENCE.search, cells)):
            yield LeftOut(kind, where=f"{name} {(reference[1] + reference[2]).decode()}")


def _printed(sheet: bytes, name: str) -> Iterator[LeftOut]:
    """The left, middle and right texts of printed headers and footers, apart from those with the number of the page."""
    for found in _PRINTED.finditer(sheet):
        sections = _PRINT_SECTION.split(html.unescape(found[1].decode(errors="replace")))
        texts = (_PRINT_CODE.sub(" ", section).split() for section in sections if "&P" not in section)
        if text := " ".join(itertools.chain.from_iterable(texts)):
            yield LeftOut("printed headers and footers", text, name)


def _comments(archive: zipfile.ZipFile, part: str, sheet: str) -> Iterator[LeftOut]:
    for kind, target in zip_packages.targets(archive, part).values():
        if kind == "comments" and target in archive.namelist():
            for comment in zip_packages.xml(archive.read(target)).iter("{*}comment"):
                text = "".join(element.text or "" for element in comment.iter("{*}t"))
                yield LeftOut("comments of cells", " ".join(text.split()), f"{sheet} {comment.get('ref', '')}")


def _text_boxes(texts: Iterable[str]) -> Iterator[LeftOut]:
    return (LeftOut("text boxes", " ".join(text.split())) for text in texts if text.strip())


def _opendocument(content: bytes) -> tuple[Mapping[str, SheetParts], list[LeftOut]]:
    parts: dict[str, SheetParts] = {}
    left_out: list[LeftOut] = []
    name, row = "", 0
    for event, element in zip_packages.read_xml(content, f"{_TABLE}table", _ROW, "{*}text-box", "{*}custom-shape"):
        if event == "start" and element.tag == f"{_TABLE}table":
            name, row = element.get(f"{_TABLE}name", ""), 0
            parts[name] = SheetParts()
        elif event == "end" and element.tag == _ROW:
            left_out += _read_row(element, row, parts[name], name)
            row += int(element.get(f"{_TABLE}number-rows-repeated", 1))
            element.clear()  # all rows at once would take ten times the memory of their text
        elif event == "end" and element.tag != f"{_TABLE}table":
            left_out += _text_boxes([" ".join("".join(line.itertext()) for line in element.iter("{*}p"))])
    return parts, left_out


def _read_row(element: Any, row: int, found: SheetParts, name: str) -> Iterator[LeftOut]:
    """Adds the cells of a row, the first of equal ones, to the parts of its sheet. Yields its comments."""
    texts: dict[int, str] = {}
    found.texts.starts.append(row)
    found.texts.rows.append(texts)
    columns = range(0)
    for cell in element.iterchildren(*_CELLS):
        columns = range(columns.stop, columns.stop + int(cell.get(f"{_TABLE}number-columns-repeated", 1)))
        for comment in cell.iter(f"{_OFFICE}annotation"):
            text = " ".join(" ".join(paragraph.itertext()) for paragraph in comment.iter("{*}p"))
            yield LeftOut("comments of cells", text, f"sheet {name}")
        height, width = (int(cell.get(f"{_TABLE}number-{what}-spanned", 1)) for what in ("rows", "columns"))
        if height > 1 or width > 1:
            found.merged.append(((row, columns.start), (row + height - 1, columns.start + width - 1)))
        if cell.get(f"{_OFFICE}value-type") in _NUMBERS:
            text = " ".join("".join(p.itertext()) for p in cell.iterfind("{*}p"))
            texts.update(dict.fromkeys(columns, text))


def show_number(value: float, code: str) -> str:
    """Formats a number by its section of a format. Returns an empty text for dates, fractions and unknown formats."""
    sections = [*code[:_LONGEST_CODE].split(";"), ""]
    section = _CURRENCY.sub(r'"\1"', _SKIPPED.sub("", sections[1] if value < 0 and sections[1] else sections[0]))
    marks = {_FIRST_MARK + n: text[1] or text[2] or "" for n, text in enumerate(_TEXT.finditer(section))}
    characters = map(chr, marks)
    bare = _TEXT.sub(lambda _text: next(characters), section)
    found = _FORMAT.fullmatch(bare)
    part = found["part"] or "" if found else ""
    if found is None or _UNKNOWN.search(bare) or abs(value) >= _LARGEST or len(part) > _MOST_PLACES:
        return ""
    number = Decimal(f"{abs(value):.15g}") * (100 if found["percent"] else 1)
    rounded = number.quantize(Decimal(1).scaleb(-len(part)), ROUND_HALF_UP)
    digits, _point, decimals = f"{rounded:f}".partition(".")
    fixed = len(part.rstrip("#"))
    decimals = decimals[:fixed] + decimals[fixed:].rstrip("0")
    whole = f"{int(digits):,}" if "," in found["whole"] else _fill(found["whole"], digits).translate(marks)
    signs = "" if value > 0 else "+-()"
    around = (found[name].translate(marks) for name in ("before", "after"))
    before, after = (text if "(" in text and ")" in text else text.strip(signs) for text in around)
    point = "." if decimals else ""
    return f"{'-' if value < 0 else ''}{before}{whole}{point}{decimals}{found['percent'] or ''}{after}".strip()


def _fill(places: str, digits: str) -> str:
    """Writes digits into the places of a format, from the last one on. Characters between the places are kept."""
    rest = list(digits)
    written = [(rest.pop() if rest else "0" * (one == "0")) if one in "#0?" else one for one in reversed(places)]
    return "".join(rest + written[::-1])
