"""Reads PDF: text in reading order with headings, ruled tables as Markdown, and the offset of each page.

Values of form fields stand where their fields are; notes are behind the text of their page. Pages without text are
recognised by OCR, and so are the pictures on other pages.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone

import pypdfium2 as pdfium
from pypdfium2 import raw as pdfium_c

from app.errors import UnreadableFile
from app.parsing import markup
from app.parsing.files import ExtractedDocument, InputFile, LeftOut, Recognise
from app.parsing.pages import headings, margins, page_layout, pdf_pictures, pdf_tables, pdf_words, pictures
from app.parsing.pages.headings import OutlineEntry
from app.parsing.pages.page_layout import PageLine, TextRun
from app.parsing.pages.pdf_pictures import PagePictures, PageRuns
from app.parsing.pages.pdf_words import HYPHEN, LEVEL, Box, Cell, PageTurn, Word

MAX_OBJECTS = 5_000
"""Paths and images of a page that are looked at."""
_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?)?")
_OBJECT = re.compile(rb"\d+ \d+ obj\b")
_NOT_A_TITLE = re.compile(r"(?i)microsoft (?:word|powerpoint)|untitled|\.(?:docx?|pptx?|tex|indd|dvi|pdf)$")


@dataclass(frozen=True, slots=True)
class PageContent:
    """The text of a page, and the lines beside it."""

    text: PageRuns
    asides: list[PageLine] = field(default_factory=list)


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author and creation time.

    Raises UnreadableFile: `encrypted`, `damaged`, `parse_limit`, or `no_text`, also for pictures without OCR.
    """
    opened = _open(file.raw)
    document = opened.document
    found = [_page(opened, index) for index in range(len(document))]
    warnings = _losses(file.raw, found)
    pictured = PagePictures(document, file.recognise)
    runs = pictured.runs([page.text for page in found])
    lines = [page_layout.lines(page) + content.asides for page, content in zip(runs, found, strict=True)]
    if not any(lines):
        _open.cache_clear()
        raise pictures.blank("The PDF contains no text.", file.recognise)
    pages, left_out = margins.remove(lines)
    titled = headings.find(pages, _outline(document))
    texts = [_text(page, index, titled) for index, page in enumerate(pages)]
    properties = document.get_metadata_dict()
    title, author = properties.get("Title", "").strip(), properties.get("Author", "").strip()
    yield ExtractedDocument(
        "\n\n".join(texts),
        title="" if _NOT_A_TITLE.search(title) else title,
        metadata={"author": author} if author else {},
        created_at=moment(properties.get("CreationDate", "")),
        page_starts=pictures.page_starts(texts),
        warnings=(*warnings, *pictured.warnings),
        left_out=(*left_out, *_unread(found, file.recognise)),
    )


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The text of each page in the order of its content, with values of form fields and notes."""
    opened = _open(raw)
    for index in range(len(opened.document)):
        text = opened.texts.get(index)
        yield f"page {index + 1}", _text_of(opened, index) if text is None else text
    _open.cache_clear()


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A PDF, and the texts of its pages as PDFium has them, which are kept since loading a page takes long."""

    document: pdfium.PdfDocument
    texts: dict[int, str] = field(default_factory=dict)


@functools.lru_cache(maxsize=1)
def _open(raw: bytes) -> OpenedFile:
    try:
        document = pdfium.PdfDocument(raw)
        document.init_forms()
    except pdfium.PdfiumError as error:
        if pdfium_c.FPDF_GetLastError() == pdfium_c.FPDF_ERR_PASSWORD or "password" in str(error).lower():
            raise UnreadableFile("encrypted", "The PDF is protected by a password: save it without one.") from error
        raise UnreadableFile("damaged", "The PDF is damaged: save or print it to a new PDF.") from error
    return OpenedFile(document)


def _load(opened: OpenedFile, index: int) -> tuple[pdfium.PdfPage, pdfium.PdfTextPage] | None:
    """A page and its text, which is kept; None if it is damaged."""
    try:
        page = opened.document[index]
        text_page = page.get_textpage()
    except pdfium.PdfiumError:
        return None
    text = text_page.get_text_range(errors="replace").replace(HYPHEN, "-\n")
    values = (run.text for run in pdf_words.values(page, LEVEL))
    opened.texts[index] = "\n".join((text, *values, *pdf_words.notes(page)))
    return page, text_page


def _text_of(opened: OpenedFile, index: int) -> str:
    """The text of a page that was not loaded before; empty if it is damaged."""
    _load(opened, index)
    return opened.texts.get(index, "")


def _unread(pages: Sequence[PageContent], recognise: Recognise | None) -> list[LeftOut]:
    """The pictures on pages with text, if there is no OCR."""
    numbers = [number for number, page in enumerate(pages, 1) if page.text.runs and page.text.pictures]
    return [LeftOut("pictures without OCR", where=margins.spans(numbers))] if numbers and recognise is None else []


def _losses(raw: bytes, pages: Sequence[PageContent]) -> list[str]:
    """Warnings on pages that could not be read. Raises UnreadableFile if there is no other page."""
    missing = [number for number, page in enumerate(pages, 1) if page.text.is_damaged]
    if len(missing) == len(pages):
        raise UnreadableFile("damaged", "The PDF is damaged: save or print it to a new PDF.")
    warnings = [f"Damaged and not read: {margins.spans(missing)} of {len(pages):,}."] if missing else []
    last = raw[raw.rfind(b"%%EOF") + 1 :]
    if b"startxref" not in last and _OBJECT.search(last):
        warnings.append("The end of the PDF is missing, so that pages may be missing: transfer it again.")
    return warnings


def _page(opened: OpenedFile, index: int) -> PageContent:
    """What is on a page."""
    loaded = _load(opened, index)
    if loaded is None:
        return PageContent(PageRuns(is_damaged=True))
    page, text_page = loaded
    paths, images = _objects(page)
    groups: defaultdict[int, list[Word]] = defaultdict(list)
    for word in pdf_words.words(text_page):
        groups[word.angle].append(word)
    (angle, words), *others = sorted(groups.items(), key=_characters, reverse=True) or [(0, [])]
    turn = PageTurn.of(angle)
    runs = _runs(words, pdf_tables.drawn(paths), turn, list(pdf_words.values(page, turn)))
    large = [box for box in pdf_pictures.large(page, images) if not pdf_pictures.has_text(box, runs, turn)]
    turned = [line for _, group in others for line in page_layout.lines(_runs(group, (), turn, ()))]
    notes = [PageLine(note, 0.0, begins=True) for note in pdf_words.notes(page)]
    asides = [replace(line, size=0.0, is_aside=True) for line in (*turned, *notes)]
    return PageContent(PageRuns(runs, turn, large[: pdf_pictures.MAX_OF_PAGE]), asides)


def _objects(page: pdfium.PdfPage) -> tuple[list[pdfium.PdfObject], list[pdfium.PdfImage]]:
    """The paths and the images of a page; of a page with many, the first ones."""
    kinds = [pdfium_c.FPDF_PAGEOBJ_PATH, pdfium_c.FPDF_PAGEOBJ_IMAGE]
    found = list(itertools.islice(page.get_objects(filter=kinds), MAX_OBJECTS))
    images = [one for one in found if one.type == pdfium_c.FPDF_PAGEOBJ_IMAGE]
    return [one for one in found if one.type != pdfium_c.FPDF_PAGEOBJ_IMAGE], images


def _characters(group: tuple[int, Sequence[Word]]) -> int:
    return sum(len(word.text) for word in group[1])


def _runs(words: Sequence[Word], drawn: Sequence[Box], turn: PageTurn, values: Sequence[TextRun]) -> list[TextRun]:
    """The runs of words of one angle and of values of form fields, with those in tables as tables."""
    grids = pdf_tables.grids(drawn, turn) if drawn else []

    def cell_of(box: Box) -> Cell | None:
        found = ((number, grid.cell(box)) for number, grid in enumerate(grids))
        return next(((number, *cell) for number, cell in found if cell is not None), None)

    runs = pdf_words.runs(words, cell_of if grids else None)
    return pdf_tables.with_tables([*runs, *((cell_of((run.x0, run.y0, run.x1, run.y1)), run) for run in values)], grids)


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
            parts.append(("\n\n" if lines[index].begins else "\n") + markup.escape(words))
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
