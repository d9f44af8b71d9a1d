"""Reads PDF: text in reading order with headings, ruled tables as Markdown, and the offset of each page.

Pages without text are recognised by OCR, and so are the pictures on other pages.
"""

from __future__ import annotations

import ctypes
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw as pdfium_c

from app.errors import UnreadableFile
from app.parsing import headings, markup, page_layout, pictures
from app.parsing.files import ExtractedDocument, InputFile
from app.parsing.headings import OutlineEntry
from app.parsing.page_layout import PageLine, TextRun
from app.parsing.pdf_pictures import PagePictures

END_WINDOW = 2_048
WIDE_GAP = 2.0
"""Horizontal gap, as a multiple of the size, that ends a run."""
RULES, CELL_SIZE, MAX_DRAWINGS = 2, 6.0, 2_000
"""Lines in each direction from which a page may have a table, their least length, and paths that make a drawing."""
_HYPHEN = "\ufffe"  # PDFium's mark of a hyphen at the end of a line
_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?)?")
_NOT_A_TITLE = re.compile(r"(?i)microsoft (?:word|powerpoint)|untitled|\.(?:docx?|pptx?|tex|indd|dvi|pdf)$")


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author and creation time.

    Raises UnreadableFile: `encrypted`, `damaged`, `parse_limit`, or `no_text`, also for pictures without OCR.
    """
    document = _opened(file.raw)
    pictured = PagePictures(document, file.recognise)
    runs = pictured.runs([_runs(document, index) for index in range(len(document))])
    if not any(runs):
        raise pictures.blank("The PDF contains no text.", file.recognise)
    ruled = [index for index in range(len(runs)) if _has_rules(document[index])]
    if ruled:
        _insert_tables(file.raw, runs, ruled)
    pages = [page_layout.lines(page) for page in runs]
    found = headings.find(pages, _outline(document))
    texts = [_text(page, index, found) for index, page in enumerate(pages)]
    properties = document.get_metadata_dict()
    title, author = properties.get("Title", "").strip(), properties.get("Author", "").strip()
    yield ExtractedDocument(
        "\n\n".join(texts),
        title="" if _NOT_A_TITLE.search(title) else title,
        metadata={"author": author} if author else {},
        created_at=moment(properties.get("CreationDate", "")),
        page_starts=pictures.page_starts(texts),
        warnings=tuple(pictured.warnings),
    )


def _opened(raw: bytes) -> pdfium.PdfDocument:
    try:
        document = pdfium.PdfDocument(raw)
        pages = len(document)
    except pdfium.PdfiumError as error:
        if pdfium_c.FPDF_GetLastError() == pdfium_c.FPDF_ERR_PASSWORD or "password" in str(error).lower():
            raise UnreadableFile("encrypted", "The PDF is protected by a password: save it without one.") from error
        raise UnreadableFile("damaged", "The PDF is damaged: save or print it to a new PDF.") from error
    if not pages or b"%%EOF" not in raw[-END_WINDOW:]:
        raise UnreadableFile("damaged", "The PDF is incomplete: its end is missing. Transfer it again.")
    return document


def _runs(document: pdfium.PdfDocument, index: int) -> list[TextRun]:
    """The runs of a page in the order of its content."""
    text_page = document[index].get_textpage()
    found: list[TextRun] = []
    characters: list[str] = []
    box = [0.0, 0.0, 0.0, 0.0]
    rect = pdfium_c.FS_RECTF()
    pointer = ctypes.byref(rect)

    def finish() -> None:
        text = _text_of(characters)
        if text.strip():
            left, bottom, right, top = box
            found.append(TextRun(text.strip(), left, bottom, right, top))
        characters.clear()

    for place in range(text_page.count_chars()):
        character = chr(pdfium_c.FPDFText_GetUnicode(text_page, place))
        if character in "\r\n\x00":
            if character == "\n":
                finish()
            continue
        if character == " " or not pdfium_c.FPDFText_GetLooseCharBox(text_page, place, pointer):
            characters.append(character)
            continue
        here = (rect.left, rect.bottom, rect.right, rect.top)
        if characters and _is_apart(box, here):
            finish()
        if not characters:
            box = list(here)
        else:
            box = [min(box[0], here[0]), min(box[1], here[1]), max(box[2], here[2]), max(box[3], here[3])]
        characters.append(character)
    finish()
    return found


def _is_apart(box: Sequence[float], here: Sequence[float]) -> bool:
    """Whether a character does not continue the run in a box: it is far right, far left, or on another line."""
    size = max(1.0, here[3] - here[1])
    middle = (here[1] + here[3]) / 2
    return here[0] - box[2] > WIDE_GAP * size or here[2] < box[0] or not box[1] <= middle <= box[3]


def _text_of(characters: Sequence[str]) -> str:
    """The text of characters, of which those beyond the first plane may be two surrogates."""
    joined = "".join(characters).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace(_HYPHEN, "-").replace("\x02", "-")


def _has_rules(page: pdfium.PdfPage) -> bool:
    """Whether lines for a table are drawn in both directions, and not so many that they are a drawing."""
    across = down = 0
    for drawings, drawn in enumerate(page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_PATH]), 1):
        if drawings > MAX_DRAWINGS:
            return False
        left, bottom, right, top = drawn.get_bounds()
        across += right - left >= CELL_SIZE
        down += top - bottom >= CELL_SIZE
    return min(across, down) >= RULES and page.get_rotation() == 0 and page.get_mediabox()[:2] == (0, 0)


def _insert_tables(raw: bytes, pages: list[list[TextRun]], ruled: Sequence[int]) -> None:
    """Replace the runs of each ruled table by the table in Markdown."""
    import pdfplumber  # takes a quarter of a second to import, and most files have no ruled table

    with pdfplumber.open(io.BytesIO(raw)) as document:
        for index in ruled:
            page = document.pages[index]
            pages[index] = _with_tables(pages[index], page.find_tables(), page.height)
            page.close()


def _with_tables(runs: list[TextRun], tables: Iterable[Any], height: float) -> list[TextRun]:
    for table in tables:
        rows = [[" ".join((cell or "").split()) for cell in row] for row in table.extract()]
        filled = sum(bool(cell) for row in rows for cell in row)
        if len(rows) < 2 or len(rows[0]) < 2 or 2 * filled < len(rows) * len(rows[0]):
            continue
        left, top, right, bottom = table.bbox
        box = (left, height - bottom, right, height - top)
        runs = [run for run in runs if not _is_inside(run, box)]
        runs.append(TextRun(markup.table(rows), *box, is_block=True))
    return runs


def _is_inside(run: TextRun, box: tuple[float, float, float, float]) -> bool:
    x, y = (run.x0 + run.x1) / 2, (run.y0 + run.y1) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _outline(document: pdfium.PdfDocument) -> Iterator[OutlineEntry]:
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        page = target.get_index() if target is not None else None
        if page is not None:
            yield OutlineEntry(bookmark.get_title(), bookmark.level, page)


def _text(lines: Sequence[PageLine], page: int, headings_found: headings.Found) -> str:
    """The Markdown of a page."""
    parts: list[str] = []
    index = 0
    while index < len(lines):
        heading = headings_found.get((page, index))
        count = heading.count if heading else 1
        words = " ".join(line.text for line in lines[index : index + count])
        if heading:
            parts.append(f"\n\n{'#' * heading.level} {words}\n\n")
        elif lines[index].is_block:
            parts.append(f"\n\n{words}\n\n")
        else:
            parts.append(("\n\n" if lines[index].begins else "\n") + markup.escaped(words))
        index += count
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip("\n")


def moment(text: str) -> datetime | None:
    """A date of PDF (D:20240131093000+01'00') in UTC; None if it is none."""
    match = _DATE.match(text)
    if match is None:
        return None
    *parts, sign, hours, minutes = match.groups()
    year, month, day, hour, minute, second = (int(p or d) for p, d in zip(parts, (0, 1, 1, 0, 0, 0), strict=True))
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=timezone(offset)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
