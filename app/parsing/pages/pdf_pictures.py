"""Reads the pages of a PDF that have no text, and the pictures on its other pages, by OCR."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pypdfium2 as pdfium

from app.errors import UnreadableFile
from app.parsing import files, formats
from app.parsing.files import Picture, Recognise
from app.parsing.pages import pictures
from app.parsing.pages.page_layout import TextRun
from app.parsing.pages.pdf_words import LEVEL, Box, PageTurn
from app.parsing.pages.pictures import MAX_PICTURES, Embedded

DPI = 200
"""Resolution in which pages are rendered, at most."""
LEAST_WIDTH, LEAST_HEIGHT = 72.0, 24.0
"""Size in points of the smallest picture on a page with text that is read."""
MAX_OF_PAGE = 20
"""Pictures of a page with text that are read."""


@dataclass(frozen=True, slots=True)
class PageRuns:
    """What is on a page: its runs, the turn that makes them level, and the boxes of its pictures without text."""

    runs: list[TextRun] = field(default_factory=list)
    turn: PageTurn = LEVEL
    pictures: Sequence[Box] = ()
    is_damaged: bool = False


@dataclass(slots=True)
class PagePictures:
    """Reads the pictures of one PDF; pages are only rendered if there is OCR."""

    document: pdfium.PdfDocument
    recognise: Recognise | None
    warnings: list[str] = field(default_factory=list)
    _texts: Embedded = field(init=False)

    def __post_init__(self) -> None:
        self._texts = Embedded(self.recognise)

    def runs(self, pages: Sequence[PageRuns]) -> list[list[TextRun]]:
        """The runs of each page with those that are read from pictures.

        Raises UnreadableFile for more pages without text than are read.
        """
        blank = [page for page in pages if not page.runs]
        if self.recognise is None:
            self._warn_of([page for page in blank if page.pictures])
            return [page.runs for page in pages]
        if len(blank) > MAX_PICTURES:
            message = (
                f"The PDF has {len(blank):,} pages without text, of at most {MAX_PICTURES:,} that are read: split it."
            )
            raise UnreadableFile("parse_limit", message)
        found = [self._page(index, page, self.recognise) for index, page in enumerate(pages)]
        self.warnings += self._texts.warnings
        return found

    def _page(self, index: int, page: PageRuns, recognise: Recognise) -> list[TextRun]:
        if page.is_damaged:
            return []
        return page.runs + self._pictured(index, page) if page.runs else self._recognised(index, recognise)

    def _warn_of(self, blank: Sequence[PageRuns]) -> None:
        if blank:
            self.warnings.append(
                f"The text of {len(blank):,} pages is not read, because they are pictures. {formats.NEEDS_OCR}"
            )

    def _recognised(self, index: int, recognise: Recognise) -> list[TextRun]:
        """The runs of a page without text."""
        page = self.document[index]
        scale = _scale(*page.get_size())
        picture = _render(page, scale)
        page.close()
        if picture is None:
            return []
        return pictures.runs(recognise(self._at(index, picture)), scale, picture.height / scale)

    def _pictured(self, index: int, content: PageRuns) -> list[TextRun]:
        """The texts of the pictures of a page, each as a block at its place."""
        found = []
        for box in content.pictures:
            picture = _render(self.document[index], _scale(box[2] - box[0], box[3] - box[1]), box)
            if picture is not None and (text := self._texts.of(self._at(index, picture))):
                found.append(TextRun(text, *content.turn.box(box), is_block=True))
        return found

    def _at(self, index: int, picture: Picture) -> Picture:
        """A picture with its page."""
        return replace(picture, page=index + 1, pages=len(self.document))


def large(page: pdfium.PdfPage, images: Iterable[pdfium.PdfImage]) -> Iterator[Box]:
    """The boxes of the images of a page that are large enough for text."""
    x0, y0, x1, y1 = page.get_bbox()
    for image in images:
        left, bottom, right, top = image.get_bounds()
        box = (max(x0, left), max(y0, bottom), min(x1, right), min(y1, top))
        is_large = box[2] - box[0] >= LEAST_WIDTH and box[3] - box[1] >= LEAST_HEIGHT
        if is_large and pictures.is_large(*image.get_px_size()):
            yield box


def has_text(box: Box, runs: Iterable[TextRun], turn: PageTurn) -> bool:
    """Whether text is on a picture of a page, which is turned for its runs."""
    place = turn.box(box)
    return any(_is_inside(run, place) for run in runs)


def _scale(width: float, height: float) -> float:
    """Pixels per point, of which a picture has no more than are recognised."""
    return min(DPI / 72, math.sqrt(files.MAX_PIXELS / max(1.0, width * height)))


def _render(page: pdfium.PdfPage, scale: float, box: Box | None = None) -> Picture | None:
    """A page or a box of it in grey levels; None if nothing is drawn there."""
    view = PageTurn.of(-page.get_rotation())
    around, inner = view.box(page.get_bbox()), view.box(box or page.get_bbox())
    crop = (inner[0] - around[0], inner[1] - around[1], around[2] - inner[2], around[3] - inner[3])
    bitmap = page.render(scale=scale, crop=crop, grayscale=True)
    image = bitmap.to_pil().convert("L")
    low, high = image.getextrema()
    picture = Picture(image.width, image.height, image.tobytes()) if low < high else None
    bitmap.close()
    return picture


def _is_inside(run: TextRun, box: Box) -> bool:
    x, y = (run.x0 + run.x1) / 2, (run.y0 + run.y1) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]
