"""Reads PDF: text in reading order with headings, ruled tables as Markdown, and the offset of each page.

Values of form fields are at the place of their fields. Notes follow the text of their page. OCR recognises pages
without text, and the pictures on other pages.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw as pdfium_c

from app.errors import UnreadableFile
from app.parsing import author_and_time, formats, markdown_writer, types
from app.parsing.pages import headers_and_footers, page_layout, pdf_headings, pdf_tables, pdf_words, pictures
from app.parsing.pages.page_layout import PageLine, TextRun
from app.parsing.pages.pdf_headings import OutlineEntry
from app.parsing.pages.pdf_words import HYPHENS, LEVEL, Box, Cell, PageTurn, Word
from app.parsing.pages.pictures import MAX_PICTURES, Embedded
from app.parsing.types import ExtractedDocument, InputFile, LeftOut, Picture

MAX_OBJECTS = 5_000
"""Most paths and images of a page that are read."""
DPI = 200
"""Highest resolution in which pages are rendered."""
LEAST_WIDTH, LEAST_HEIGHT = 72.0, 24.0
"""Least size in points of a picture that is read on a page with text."""
MAX_OF_PAGE = 20
"""Most pictures that are read on a page with text."""
_DATE = re.compile(r"D?:?(\d{4}(?:\d\d){0,5}+)(?![^\W\dZ_]|[/.:]|\s+\d|-\d\d-)(?:([+-])(\d\d)'?(\d\d)?)?")
_TOP_OF_VIEW = {pdfium_c.PDFDEST_VIEW_XYZ: 1, pdfium_c.PDFDEST_VIEW_FITH: 0, pdfium_c.PDFDEST_VIEW_FITBH: 0}
"""The number that is the y, by the way in which an entry of the outline shows its page."""
_OBJECT = re.compile(rb"\d \d{1,5} obj\b")
_LEADERS = re.compile(r"(?:\s?[.·…]){5,}\s?")
"""The dots between an entry of a table of contents and its page."""
_NOT_A_TITLE = re.compile(
    r"(?i)microsoft (?:word|powerpoint)|untitled|\.(?:docx?|pptx?|tex|indd|dvi|pdf)$|^\S+\.[a-z]\w*$|^[\W\d]*$"
    r"|^\(\w+\)$"
)
"""What programs write in place of a title, the name of a file, or a number."""


@dataclass(frozen=True, slots=True)
class PageRuns:
    """The content of a page: its runs, the turn that makes them level, its pictures without text, and other lines.

    Pictures are boxes on the page. `hidden` is the text beyond the edges of a page with other text. `has_stamp` is set
    if the text of a stamp is only drawn.
    """

    runs: list[TextRun] = field(default_factory=list)
    turn: PageTurn = LEVEL
    pictures: Sequence[Box] = ()
    asides: list[PageLine] = field(default_factory=list)
    hidden: str = ""
    has_stamp: bool = False
    is_damaged: bool = False


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author and creation time.

    Raises UnreadableFile: `encrypted`, `damaged`, `parse_limit`, or `no_text`, also for pictures without OCR.
    """
    opened = _open(file.raw)
    document = opened.document
    found = [_page(opened, index) for index in range(len(document))]
    warnings = _losses(file.raw, found)
    embedded = Embedded(file.recognise)
    pictured = PagePictures(document, embedded)
    lines = [page_layout.lines(runs) + page.asides for runs, page in zip(pictured.runs(found), found, strict=True)]
    if not any(lines):
        _open.cache_clear()
        raise pictures.blank("The PDF contains no text.", file.recognise)
    pages, left_out = headers_and_footers.remove(lines)
    properties = document.get_metadata_dict()
    title, author = properties.get("Title", "").strip(), properties.get("Author", "").strip()
    title = "" if _NOT_A_TITLE.search(title) else title
    titled = pdf_headings.find(pages, _outline(document), title)
    texts = [_text(page, index, titled) for index, page in enumerate(pages)]
    yield ExtractedDocument(
        "\n\n".join(texts),
        title=title,
        metadata=author_and_time.author(author),
        created_at=moment(properties.get("CreationDate", "")),
        page_starts=pictures.page_starts(texts),
        warnings=(*warnings, *embedded.warnings),
        left_out=(*left_out, *_hidden(found), *_attached(document, found), *embedded.left_out),
    )


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The text of each page in the order of its content, with values of form fields and notes."""
    opened = _open(raw)
    for index in range(len(opened.document)):
        if index not in opened.texts:
            _load(opened, index)
        yield f"page {index + 1}", opened.texts.get(index, "")  # none of a damaged page
    _open.cache_clear()


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A PDF, and its pages' texts from PDFium. They are kept, because loading a page takes long."""

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


def _load(opened: OpenedFile, index: int) -> tuple[pdfium.PdfPage, pdfium.PdfTextPage, list[str]] | None:
    """Loads a page and its characters, and keeps their text; None if the page is damaged."""
    try:
        page = opened.document[index]
        text_page = page.get_textpage()
    except pdfium.PdfiumError:
        return None
    characters = pdf_words.characters(text_page)
    text = re.sub(f"[{HYPHENS}]", "-\n", pdf_words.join(characters))
    values = (run.text for run in pdf_words.values(page, LEVEL))
    opened.texts[index] = "\n".join((text, *values, *pdf_words.notes(page)))
    return page, text_page, characters


def _losses(raw: bytes, pages: Sequence[PageRuns]) -> list[str]:
    """Warnings about pages that could not be read. Raises UnreadableFile if no page could."""
    missing = [number for number, page in enumerate(pages, 1) if page.is_damaged]
    if len(missing) == len(pages):
        raise UnreadableFile("damaged", "The PDF is damaged: save or print it to a new PDF.")
    warnings = [f"Damaged and not read: {headers_and_footers.spans(missing)} of {len(pages):,}."] if missing else []
    last = raw[raw.rfind(b"%%EOF") + 1 :]
    if b"startxref" not in last and _OBJECT.search(last):
        warnings.append("The end of the PDF is missing, so that pages may be missing: transfer it again.")
    return warnings


def _page(opened: OpenedFile, index: int) -> PageRuns:
    """The content of a page."""
    loaded = _load(opened, index)
    if loaded is None:
        return PageRuns(is_damaged=True)
    page, text_page, characters = loaded
    kinds = [pdfium_c.FPDF_PAGEOBJ_PATH, pdfium_c.FPDF_PAGEOBJ_IMAGE]
    drawn = list(itertools.islice(page.get_objects(filter=kinds), MAX_OBJECTS))
    images = [one for one in drawn if isinstance(one, pdfium.PdfImage)]
    paths = [one for one in drawn if not isinstance(one, pdfium.PdfImage)]
    words, hidden = _divide(pdf_words.words(text_page, characters), page.get_bbox())
    groups: defaultdict[int, list[Word]] = defaultdict(list)
    for word in words:
        groups[word.angle].append(word)
    by_length = sorted(groups.items(), key=lambda group: sum(len(word.text) for word in group[1]), reverse=True)
    (angle, words), *others = by_length or [(0, [])]
    turn = PageTurn.of(angle)
    runs = _runs(words, pdf_tables.find_lines(paths, page.get_bbox()), turn, list(pdf_words.values(page, turn, words)))
    large = [box for box in _large(page, images) if not any(_is_inside(run, turn.box(box)) for run in runs)]
    turned = [line for _, group in others for line in page_layout.lines(_runs(group, (), turn, ()))]
    notes = [PageLine(note, 0.0, begins=True) for note in pdf_words.notes(page)]
    asides = [replace(line, size=0.0, is_aside=True) for line in (*turned, *notes)]
    return PageRuns(runs, turn, large[:MAX_OF_PAGE], asides, hidden, pdf_words.has_stamp(page))


def _divide(words: Iterable[Word], page: Box) -> tuple[list[Word], str]:
    """The words on a page, and the text beyond its edges; all words if no word is on the page."""
    shown, hidden = list[Word](), list[Word]()
    edges: dict[int, Box] = {}
    for word in words:
        left, bottom, right, top = edges.setdefault(word.angle, PageTurn.of(word.angle).box(page))
        x0, y0, x1, y1 = word.box
        (shown if x0 <= right and left <= x1 and y0 <= top and bottom <= y1 else hidden).append(word)
    return (shown, " ".join(word.text for word in hidden)) if shown else (hidden, "")


def _hidden(pages: Sequence[PageRuns]) -> Iterator[LeftOut]:
    """The text beyond the edges of pages, such as what slides show later."""
    found = {number: page.hidden for number, page in enumerate(pages, 1) if page.hidden}
    if found:
        yield LeftOut("text beyond the edges of the page", "\n".join(found.values()), headers_and_footers.spans(found))


def _attached(document: pdfium.PdfDocument, pages: Sequence[PageRuns]) -> Iterator[LeftOut]:
    """The attached files, and the stamps whose text is only drawn."""
    for number in range(min(MAX_OBJECTS, document.count_attachments())):
        name = ""
        with suppress(pdfium.PdfiumError):
            name = document.get_attachment(number).get_name()
        yield LeftOut("attachments", where=name)
    if stamped := [number for number, page in enumerate(pages, 1) if page.has_stamp]:
        yield LeftOut("stamps", where=headers_and_footers.spans(stamped))


def _runs(words: Sequence[Word], drawn: Sequence[Box], turn: PageTurn, values: Sequence[TextRun]) -> list[TextRun]:
    """Joins the words of one angle, and the values of form fields, to runs. Runs in tables become tables."""
    grids = pdf_tables.find_tables(drawn, turn) if drawn else []

    def cell_of(box: Box) -> Cell | None:
        found = ((number, grid.cell(box)) for number, grid in enumerate(grids))
        return next(((number, *cell) for number, cell in found if cell is not None), None)

    runs = pdf_words.runs(words, cell_of if grids else None)
    return pdf_tables.insert_tables(
        [*runs, *((cell_of((run.x0, run.y0, run.x1, run.y1)), run) for run in values)], grids
    )


def _outline(document: pdfium.PdfDocument) -> Iterator[OutlineEntry]:
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        page = target.get_index() if target is not None else None
        if page is not None:
            yield OutlineEntry(bookmark.get_title(), bookmark.level, page, _top(target))


def _top(target: Any) -> float | None:
    """The y on its page to which an entry of the outline leads; None if it leads to the whole page."""
    view, places = target.get_view()
    place = _TOP_OF_VIEW.get(view, len(places))
    return places[place] or None if place < len(places) else None


def _text(lines: Sequence[PageLine], page: int, headings_found: pdf_headings.Found) -> str:
    """The Markdown of a page."""
    parts: list[str] = []
    index = 0
    while index < len(lines):
        heading = headings_found.get((page, index))
        count = heading.count if heading else 1
        words = _LEADERS.sub(" … ", " ".join(line.text for line in lines[index : index + count])).strip()
        if heading:
            parts.append(f"\n\n{'#' * heading.level} {words}\n\n")
        elif lines[index].is_block:
            parts.append(f"\n\n{words}\n\n")
        else:
            parts.append(("\n\n" if lines[index].begins else "\n") + markdown_writer.escape(words))
        index += count
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip("\n")


def moment(text: str) -> datetime | None:
    """Converts a date of PDF (D:20240131093000+01'00') or of ISO 8601 to UTC; None for other text."""
    if (match := _DATE.match(text)) is None:
        return author_and_time.parse_moment(text)
    digits, sign, hours, minutes = match.groups(default="")
    digits += "00000101000000"[len(digits) :]
    return author_and_time.parse_moment(f"{digits[:8]}T{digits[8:]}{sign}{hours}{minutes}")


@dataclass(frozen=True, slots=True)
class PagePictures:
    """Reads the pictures of one PDF. Renders pages only if there is OCR."""

    document: pdfium.PdfDocument
    embedded: Embedded

    def runs(self, pages: Sequence[PageRuns]) -> list[list[TextRun]]:
        """The runs of each page, including runs that are read from pictures.

        Raises UnreadableFile if there are more pages without text than are read.
        """
        recognise = self.embedded.recognise
        if recognise is None:
            self._name_unread(pages)
            return [page.runs for page in pages]
        blank = sum(not page.runs for page in pages)
        if blank > MAX_PICTURES:
            message = f"The PDF has {blank:,} pages without text, of at most {MAX_PICTURES:,} that are read: split it."
            raise UnreadableFile("parse_limit", message)
        found = []
        for index, page in enumerate(pages):
            if page.runs or page.is_damaged:
                found.append(page.runs + self._pictured(index, page))
            else:
                picture, scale = self._render(index)
                lines = [] if picture is None else recognise(picture)
                found.append(pictures.runs(lines, scale, picture.height / scale if picture else 0.0))
        return found

    def _name_unread(self, pages: Sequence[PageRuns]) -> None:
        """Name the pictures that are not read without OCR."""
        blank = [number for number, page in enumerate(pages, 1) if page.pictures and not page.runs]
        if blank:
            warning = f"Not read, because they are pictures: {headers_and_footers.spans(blank)}. {formats.NEEDS_OCR}"
            self.embedded.warnings.append(warning)
        numbers = [number for number, page in enumerate(pages, 1) if page.runs and page.pictures]
        if numbers:
            self.embedded.left_out.append(LeftOut("pictures without OCR", where=headers_and_footers.spans(numbers)))

    def _pictured(self, index: int, content: PageRuns) -> list[TextRun]:
        """The texts of the pictures of a page, each as a block at its place."""
        found = []
        for box in content.pictures:
            picture, _scale = self._render(index, box)
            if picture is not None and (text := self.embedded.of(picture)):
                found.append(TextRun(text, *content.turn.box(box), is_block=True))
        return found

    def _render(self, index: int, box: Box | None = None) -> tuple[Picture | None, float]:
        """A page or a box of it in grey levels, and its pixels per point; None if nothing is drawn there."""
        page = self.document[index]
        width, height = page.get_size() if box is None else (box[2] - box[0], box[3] - box[1])
        scale = min(DPI / 72, math.sqrt(types.MAX_PIXELS / max(1.0, width * height)))
        view = PageTurn.of(-page.get_rotation())
        around, inner = view.box(page.get_bbox()), view.box(box or page.get_bbox())
        crop = (inner[0] - around[0], inner[1] - around[1], around[2] - inner[2], around[3] - inner[3])
        bitmap = page.render(scale=scale, crop=crop, grayscale=True)
        image = bitmap.to_pil()
        low, high = image.getextrema()
        picture = pictures.grey(image) if low < high else None  # by rounding, it may exceed the limit a little
        bitmap.close()
        page.close()
        return picture, scale


def _large(page: pdfium.PdfPage, images: Iterable[pdfium.PdfImage]) -> Iterator[Box]:
    """The boxes of the images of a page that are large enough for text."""
    x0, y0, x1, y1 = page.get_bbox()
    for image in images:
        left, bottom, right, top = image.get_bounds()
        box = (max(x0, left), max(y0, bottom), min(x1, right), min(y1, top))
        is_large = box[2] - box[0] >= LEAST_WIDTH and box[3] - box[1] >= LEAST_HEIGHT
        if is_large and pictures.is_large(*image.get_px_size()):
            yield box


def _is_inside(run: TextRun, box: Box) -> bool:
    return box[0] <= (run.x0 + run.x1) / 2 <= box[2] and box[1] <= (run.y0 + run.y1) / 2 <= box[3]
