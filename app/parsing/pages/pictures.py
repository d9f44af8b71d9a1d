"""Reads PNG, JPEG and TIFF by OCR, each picture of a TIFF as a page, and prepares the pictures in other files."""

from __future__ import annotations

import hashlib
import io
import itertools
import math
import statistics
import struct
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

from app.errors import UnreadableFile
from app.parsing import formats, markdown_writer
from app.parsing.pages import headers_and_footers, page_layout
from app.parsing.pages.page_layout import PageLine, TextRun
from app.parsing.types import MAX_PIXELS, ExtractedDocument, InputFile, LeftOut, Picture, Recognise, RecognisedLine

DECODED = ("PNG", "JPEG", "TIFF", "GIF", "BMP")
"""Formats that are decoded. The library supports more."""
MAX_DECODED = 100_000_000
"""Pixels of the largest picture that is decoded. A scan of A3 at 600 dots per inch has less."""
MAX_PICTURES = 1_000
"""Most pictures of a file that are recognised, and most pages of a file without text."""
LEAST_SIDE, LEAST_PIXELS = 40, 10_000
"""A picture in a document with a smaller side or size, in pixels, is a sign and is not read."""
NOTHING = "No text was recognised in its pictures: Latin, Chinese and Japanese script is read."
_UNREAD = "A picture in the file could not be read."
_DECODING = (OSError, ValueError, SyntaxError, EOFError, struct.error)
"""What the library raises for damaged pictures."""
_TOO_LARGE = f"The picture has more than {MAX_DECODED // 1_000_000} million pixels: save it in a lower resolution."
_DAMAGED = "The picture is damaged or incomplete: save it again."
LEAST_SKEW = math.radians(0.1)
LONG = 4.0
"""A line shows the skew of the page if it is at least this many times as wide as high."""
SAME_SIZE = 0.3
"""Heights of lines of one font size differ from their median by up to this share, as the heights of letters do."""


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document. Its pages are the pictures of the file.

    Raises UnreadableFile: `damaged`, `parse_limit`, `no_text`, or `unsupported_format` without OCR.
    """
    recognise = file.recognise
    if recognise is None:
        raise UnreadableFile("unsupported_format", f"The file is a picture. {formats.NEEDS_OCR}")
    pages, left_out = headers_and_footers.remove([_lines(recognise(picture)) for picture in _frames(file.raw)])
    if not any(pages):
        raise blank("The file is a picture.", recognise)
    texts = [_text(page) for page in pages]
    starts = page_starts(texts) if len(texts) > 1 else ()
    yield ExtractedDocument("\n\n".join(texts), page_starts=starts, left_out=left_out)


def blank(subject: str, recognise: Recognise | None) -> UnreadableFile:
    """The error for a file without text; `subject` is the sentence that says so."""
    return UnreadableFile("no_text", f"{subject} {formats.NEEDS_OCR if recognise is None else NOTHING}")


def page_starts(texts: Iterable[str]) -> tuple[int, ...]:
    """The offsets of texts when blank lines join them."""
    starts, end = [], 0
    for text in texts:
        starts.append(end)
        end += len(text) + 2
    return tuple(starts)


class Embedded:
    """Reads the different pictures in a document, each once, up to a limit."""

    def __init__(self, recognise: Recognise | None) -> None:
        self.recognise = recognise
        self._texts: dict[bytes, str] = {}
        self.left_out: list[LeftOut] = []
        self.warnings: list[str] = []

    def text(self, raw: bytes) -> str:
        """The text on an encoded picture as Markdown; empty if it is not read. A large unread picture is named."""
        try:
            image = _open(raw)
            if not is_large(*image.size):
                return ""
            if self.recognise is not None:
                return self.of(grey(image))
            self.left_out.append(LeftOut("pictures, whose text is read by OCR only"))
        except (UnreadableFile, MemoryError, *_DECODING):
            if self.recognise is not None:
                self._warn(_UNREAD)
        return ""

    def of(self, picture: Picture) -> str:
        """The text on a picture as Markdown; empty without OCR, or if it cannot be recognised."""
        digest = hashlib.sha256(picture.pixels).digest()
        if digest not in self._texts and self.recognise is not None:
            if len(self._texts) >= MAX_PICTURES:
                self._warn(f"Only the first {MAX_PICTURES:,} pictures in the file were read.")
                return ""
            try:
                self._texts[digest] = _text(_lines(self.recognise(picture)))
            except UnreadableFile:
                self._texts[digest] = ""
                self._warn(_UNREAD)
        return self._texts.get(digest, "")

    def _warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)


def is_large(width: float, height: float) -> bool:
    """Whether a picture in a document is large enough for text."""
    return min(width, height) >= LEAST_SIDE and width * height >= LEAST_PIXELS


def grey(image: Image.Image) -> Picture:
    """Converts a picture to grey levels on white, turned upright by its metadata, and scaled down to the limit."""
    image.draft("L", image.size)
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # more than 8 bits, which the conversion would cut off
        image = image.convert("I")
        low, high = map(int, cast("tuple[int, int]", image.getextrema()))
        scale = 255 / max(1, high - low)
        image = image.point(lambda level: level * scale - low * scale).convert("L")
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    image = image.convert("L")
    if (size := image.width * image.height) > MAX_PIXELS:
        scale = math.sqrt(MAX_PIXELS / size)
        image = image.resize((max(1, int(image.width * scale)), max(1, int(image.height * scale))))
    return Picture(image.width, image.height, image.tobytes())


def _frames(raw: bytes) -> Iterator[Picture]:
    """The pictures of a file. Raises UnreadableFile."""
    try:
        image = _open(raw)
        if (frames := getattr(image, "n_frames", 1)) > MAX_PICTURES:
            raise UnreadableFile(
                "parse_limit", f"The file has {frames:,} pictures, of at most {MAX_PICTURES:,}: split it."
            )
        frames = frames if image.format == "TIFF" else 1  # the frames of other formats are an animation
        for frame in itertools.islice(ImageSequence.Iterator(image), frames):
            _check_size(frame)
            yield grey(frame)
    except _DECODING as error:
        raise UnreadableFile("damaged", _DAMAGED) from error


def _open(raw: bytes) -> Any:
    """A picture, not decoded yet. Raises UnreadableFile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Image.MAX_IMAGE_PIXELS = None  # checked here, before anything is decoded
        try:
            image = Image.open(io.BytesIO(raw), formats=DECODED)
        except UnidentifiedImageError as error:
            raise UnreadableFile("damaged", _DAMAGED) from error
    _check_size(image)
    return image


def _check_size(image: Image.Image) -> None:
    if image.width * image.height > MAX_DECODED:
        raise UnreadableFile("parse_limit", _TOO_LARGE)


def _lines(recognised: Iterable[RecognisedLine]) -> list[PageLine]:
    """The lines of a picture in reading order."""
    return page_layout.lines(runs(recognised))


def _text(lines: Iterable[PageLine]) -> str:
    """The Markdown of a picture: its lines in paragraphs."""
    parts = [("\n\n" if line.begins else "\n") + markdown_writer.escape(line.text) for line in lines]
    return "".join(parts).strip("\n")


def runs(lines: Iterable[RecognisedLine], scale: float = 1.0, height: float = 0.0) -> list[TextRun]:
    """The lines as runs in units of `scale` pixels, with y upwards from the bottom of a picture of this height.

    A skewed page is turned upright about its upper left corner.
    """
    every = [line for line in lines if line.text.strip()]
    if not every:
        return []
    skew = _skew(every)
    sizes = [_size(line) for line in every]
    typical = statistics.median(sizes)
    found = []
    for line, size in zip(every, sizes, strict=True):
        x, y = sum(line.corners[::2]) / 4, sum(line.corners[1::2]) / 4
        x, y = x * math.cos(skew) + y * math.sin(skew), y * math.cos(skew) - x * math.sin(skew)
        width = _width(line)
        size = typical if abs(size - typical) <= SAME_SIZE * typical else size
        left, middle = (x - width / 2) / scale, height - y / scale
        found.append(
            TextRun(line.text.strip(), left, middle - size / scale / 2, left + width / scale, middle + size / scale / 2)
        )
    return found


def _skew(lines: Sequence[RecognisedLine]) -> float:
    """The angle of the page in radians: the median of its long lines."""
    angles = [
        math.atan2(c[3] - c[1], c[2] - c[0])
        for line in lines
        if _width(line) >= LONG * _size(line)
        for c in [line.corners]
    ]
    skew = statistics.median(angles) if angles else 0.0
    return skew if LEAST_SKEW <= abs(skew) <= math.pi / 8 else 0.0


def _width(line: RecognisedLine) -> float:
    x0, y0, x1, y1, x2, y2, x3, y3 = line.corners
    return (math.hypot(x1 - x0, y1 - y0) + math.hypot(x2 - x3, y2 - y3)) / 2


def _size(line: RecognisedLine) -> float:
    x0, y0, x1, y1, x2, y2, x3, y3 = line.corners
    return (math.hypot(x3 - x0, y3 - y0) + math.hypot(x2 - x1, y2 - y1)) / 2
