"""Reads the pages of a PDF that have no text, and the pictures on its other pages, by OCR."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pypdfium2 as pdfium
from pypdfium2 import raw as pdfium_c

from app.errors import UnreadableFile
from app.parsing import formats, pictures, recognised_lines
from app.parsing import picture_lines as recognition
from app.parsing.files import Recognise
from app.parsing.page_layout import TextRun
from app.parsing.picture_lines import Picture
from app.parsing.pictures import MAX_PICTURES, Embedded

DPI = 200
"""Resolution in which pages are rendered, at most."""
LEAST_WIDTH, LEAST_HEIGHT = 72.0, 24.0
"""Size in points of the smallest picture on a page with text that is read."""
MAX_OF_PAGE = 20
"""Pictures of a page with text that are read."""
Box = tuple[float, float, float, float]


@dataclass(slots=True)
class PagePictures:
    """Reads the pictures of one PDF; pages are only rendered if there is OCR."""

    document: pdfium.PdfDocument
    recognise: Recognise | None
    warnings: list[str] = field(default_factory=list)
    _texts: Embedded = field(init=False)

    def __post_init__(self) -> None:
        self._texts = Embedded(self.recognise)

    def runs(self, pages: Sequence[list[TextRun]]) -> list[list[TextRun]]:
        """The runs of each page with those that are read from pictures.

        Raises UnreadableFile for more pages without text than are read.
        """
        blank = [index for index, page in enumerate(pages) if not page]
        if self.recognise is None:
            self._warn_of(blank)
            return list(pages)
        if len(blank) > MAX_PICTURES:
            message = (
                f"The PDF has {len(blank):,} pages without text, of at most {MAX_PICTURES:,} that are read: split it."
            )
            raise UnreadableFile("parse_limit", message)
        found = [
            page + self._pictured(index, page) if page else self._recognised(index, self.recognise)
            for index, page in enumerate(pages)
        ]
        self.warnings += self._texts.warnings
        return found

    def _warn_of(self, blank: Sequence[int]) -> None:
        count = sum(next(self._images(index), None) is not None for index in blank)
        if count:
            self.warnings.append(
                f"The text of {count:,} pages is not read, because they are pictures. {formats.NEEDS_OCR}"
            )

    def _recognised(self, index: int, recognise: Recognise) -> list[TextRun]:
        """The runs of a page without text."""
        page = self.document[index]
        scale = _scale(*page.get_size())
        picture = _rendered(page, scale)
        page.close()
        if picture is None:
            return []
        return recognised_lines.runs(recognise(self._at(index, picture)), scale, picture.height / scale)

    def _pictured(self, index: int, runs: Sequence[TextRun]) -> list[TextRun]:
        """The texts of the pictures of a page, each as a block at its place; not of those with text on them."""
        found = []
        for box in self._images(index):
            if any(_is_inside(run, box) for run in runs):
                continue
            page = self.document[index]
            picture = _rendered(page, _scale(box[2] - box[0], box[3] - box[1]), box)
            if picture is not None and (text := self._texts.of(self._at(index, picture))):
                found.append(TextRun(text, *box, is_block=True))
        return found

    def _at(self, index: int, picture: Picture) -> Picture:
        """A picture with its page."""
        return replace(picture, page=index + 1, pages=len(self.document))

    def _images(self, index: int) -> Iterator[Box]:
        """The boxes of the pictures of a page that are large enough for text, without those on turned pages."""
        page = self.document[index]
        width, height = page.get_size()
        if page.get_rotation() or page.get_mediabox()[:2] != (0, 0):
            return
        count = 0
        for drawn in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE]):
            left, bottom, right, top = drawn.get_bounds()
            box = (max(0.0, left), max(0.0, bottom), min(width, right), min(height, top))
            is_large = box[2] - box[0] >= LEAST_WIDTH and box[3] - box[1] >= LEAST_HEIGHT
            if is_large and pictures.is_large(*drawn.get_px_size()):
                yield box
                count += 1
                if count >= MAX_OF_PAGE:
                    return


def _scale(width: float, height: float) -> float:
    """Pixels per point, of which a picture has no more than are recognised."""
    return min(DPI / 72, math.sqrt(recognition.MAX_PIXELS / max(1.0, width * height)))


def _rendered(page: pdfium.PdfPage, scale: float, box: Box | None = None) -> Picture | None:
    """A page or a box of it in grey levels; None if nothing is drawn there."""
    width, height = page.get_size()
    crop = (box[0], box[1], width - box[2], height - box[3]) if box else (0, 0, 0, 0)
    bitmap = page.render(scale=scale, crop=crop, grayscale=True)
    image = bitmap.to_pil().convert("L")
    low, high = image.getextrema()
    picture = Picture(image.width, image.height, image.tobytes()) if low < high else None
    bitmap.close()
    return picture


def _is_inside(run: TextRun, box: Box) -> bool:
    x, y = (run.x0 + run.x1) / 2, (run.y0 + run.y1) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]
