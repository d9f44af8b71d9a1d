"""Renders pages of the sample notes as pictures, clean and with fixed degradations."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

from app import samples

POINTS, FONT = 11.0, "Helvetica"
LEADING = 1.3 * POINTS
MARGIN, GAP = 60.0, 24.0
WIDTH, HEIGHT = A4
DPI, LOW_DPI = 200, 150
SKEW_DEGREES = 2.0
NOISE = 24.0
"""Standard deviation of the noise in grey levels, of 256."""
SPECKS = 0.002
"""Share of the pixels that are black or white by chance."""
TEXT_LINES = int((HEIGHT - 2 * MARGIN) // LEADING)
TABLE_ROWS = 24


@dataclass(frozen=True, slots=True)
class Page:
    """A page as a picture in grey levels, its resolution, and the text on it in reading order."""

    picture: Image.Image
    dpi: int
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text at a place on a page, in points from its upper left corner."""

    text: str
    x: float
    y: float


def clean(count: int) -> list[Page]:
    """Pages of one column of text."""
    texts = _columns(WIDTH - 2 * MARGIN, count, 1)
    return [_page(columns, WIDTH - 2 * MARGIN) for columns in texts]


def two_columns(count: int) -> list[Page]:
    """Pages of two columns of text."""
    width = (WIDTH - 2 * MARGIN - GAP) / 2
    return [_page(columns, width) for columns in _columns(width, count, 2)]


def tables(count: int) -> list[Page]:
    """Pages with a ruled table of a note, its date and its first words in each row."""
    notes = [(path.stem, _plain(text)) for path, text in _notes()]
    return [
        _table([_row(*notes[(page * TABLE_ROWS + row) % len(notes)]) for row in range(TABLE_ROWS)])
        for page in range(count)
    ]


def skewed(count: int) -> list[Page]:
    """Clean pages, turned by two degrees."""
    return _changed(
        clean(count), lambda picture, _seed: picture.rotate(SKEW_DEGREES, Image.Resampling.BICUBIC, fillcolor=255)
    )


def noisy(count: int) -> list[Page]:
    """Clean pages with grey noise and specks."""
    return _changed(clean(count), _with_noise)


def coarse(count: int) -> list[Page]:
    """Clean pages with 150 dots per inch."""
    texts = _columns(WIDTH - 2 * MARGIN, count, 1)
    return [_page(columns, WIDTH - 2 * MARGIN, dpi=LOW_DPI) for columns in texts]


KINDS: Mapping[str, Callable[[int], list[Page]]] = {
    "clean": clean,
    "2° skew": skewed,
    "noise": noisy,
    "150 dpi": coarse,
    "two columns": two_columns,
    "table": tables,
}


def pdf(pages: Sequence[Page]) -> bytes:
    """A PDF whose pages are pictures only."""
    target = io.BytesIO()
    first, *others = [page.picture for page in pages]
    first.save(target, "PDF", resolution=pages[0].dpi, save_all=True, append_images=others)
    return target.getvalue()


def _notes() -> Iterator[tuple[Path, str]]:
    folder = Path(samples.__file__).parent / "notes"
    for path in sorted(folder.rglob("*.md")):
        yield path, path.read_text(encoding="utf-8")


def _plain(markdown: str) -> list[str]:
    """The paragraphs of a note without its frontmatter and marks."""
    body = re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.S)
    body = re.sub(r"\[\[?([^\]|]+)[^\]]*\]\]?(?:\([^)]*\))?", r"\1", body)
    body = re.sub(r"(?m)^(?:#+|[-*])\s+|[`*|]", "", body).encode("cp1252", "ignore").decode("cp1252")
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\d+\. )", body) if part.strip("- \n")]


def _columns(width: float, pages: int, of_page: int) -> list[list[list[str]]]:
    """The lines of each column of each page."""
    lines = [
        line
        for _path, text in _notes()
        for part in _plain(text)
        for line in (*simpleSplit(part, FONT, POINTS, width), "")
    ]
    size = TEXT_LINES * of_page
    return [
        [lines[start : start + TEXT_LINES] for start in range(page * size, (page + 1) * size, TEXT_LINES)]
        for page in range(pages)
    ]


def _page(columns: Sequence[Sequence[str]], width: float, *, dpi: int = DPI) -> Page:
    lines = [
        Line(text, MARGIN + place * (width + GAP), MARGIN + number * LEADING)
        for place, column in enumerate(columns)
        for number, text in enumerate(column)
    ]
    return Page(_drawn(lines, dpi), dpi, " ".join(line.text for line in lines if line.text))


def _row(name: str, paragraphs: Sequence[str]) -> tuple[str, ...]:
    words = " ".join(paragraphs[1:]).split()
    return (name[:24], str(len(words)), " ".join(words[:3]), " ".join(words[3:6]))


def _table(rows: Sequence[Sequence[str]]) -> Page:
    xs = (MARGIN, MARGIN + 150, MARGIN + 200, MARGIN + 340)
    step = (HEIGHT - 2 * MARGIN) / TABLE_ROWS
    lines = [
        Line(cell, x, MARGIN + number * step)
        for number, row in enumerate(rows)
        for x, cell in zip(xs, row, strict=True)
    ]
    down = [x - 6 for x in (*xs, WIDTH - MARGIN + 6)]
    return Page(_drawn(lines, DPI, rules=(down, step)), DPI, " ".join(line.text for line in lines))


def _drawn(lines: Sequence[Line], dpi: int, *, rules: tuple[Sequence[float], float] | None = None) -> Image.Image:
    """A page in grey levels."""
    target = io.BytesIO()
    canvas = Canvas(target, pagesize=A4, invariant=True)
    canvas.setFont(FONT, POINTS)
    for line in lines:
        canvas.drawString(line.x, HEIGHT - line.y - POINTS, line.text)
    if rules is not None:
        _draw_rules(canvas, *rules)
    canvas.save()
    rendered: Image.Image = pdfium.PdfDocument(target.getvalue())[0].render(scale=dpi / 72, grayscale=True).to_pil()
    return rendered.convert("L")


def _draw_rules(canvas: Canvas, down: Sequence[float], step: float) -> None:
    top, bottom = MARGIN - 8, MARGIN - 8 + TABLE_ROWS * step
    for x in down:
        canvas.line(x, HEIGHT - top, x, HEIGHT - bottom)
    for row in range(TABLE_ROWS + 1):
        canvas.line(down[0], HEIGHT - top - row * step, down[-1], HEIGHT - top - row * step)


def _changed(pages: Sequence[Page], change: Callable[[Image.Image, int], Image.Image]) -> list[Page]:
    return [Page(change(page.picture, seed), page.dpi, page.text) for seed, page in enumerate(pages)]


def _with_noise(picture: Image.Image, seed: int) -> Image.Image:
    chance = np.random.default_rng(seed)
    grey = np.asarray(picture, dtype=np.float32)
    grey = 0.8 * grey + 30 + NOISE * chance.standard_normal(grey.shape, dtype=np.float32)
    specks = chance.random(grey.shape)
    grey[specks < SPECKS / 2] = 0
    grey[specks > 1 - SPECKS / 2] = 255
    return Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))
