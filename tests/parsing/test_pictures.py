"""Scans and pictures are read page by page by what recognises their lines, within limits."""

import io
import itertools
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import docx
import made_files
import numpy as np
import pptx
import pytest
from PIL import Image, ImageDraw
from pptx.util import Inches
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from app.errors import UnreadableFile
from app.parsing import formats, worker
from app.parsing.pages import pictures
from app.parsing.process import ParseLimits, Parser, ParseShare, Unrecognised
from app.parsing.types import ExtractedDocument, InputFile, Picture, RecognisedLine

LIMITS = ParseLimits(cpu_s=10, wall_s=30.0)


@dataclass(slots=True)
class Recognised:
    """Answers with a line for each picture: its number among the different ones; fails from `fails_from` on."""

    fails_from: int = 1_000
    seen: list[Picture] = field(default_factory=list)

    async def lines(self, picture: Picture) -> Sequence[RecognisedLine]:
        return self.of(picture)

    def of(self, picture: Picture) -> Sequence[RecognisedLine]:
        """The line of a picture, for a parser in this process."""
        self.seen.append(picture)
        if len(self.seen) >= self.fails_from:
            raise Unrecognised("The page could not be recognised.")
        number = list(dict.fromkeys(self.seen)).index(picture) + 1
        return [_line(f"Line {number}", 100, 100)]


def _line(
    text: str, x: float, y: float, *, width: float = 400, height: float = 30, slope: float = 0.0
) -> RecognisedLine:
    left, right = (x, y), (x + width, y + slope * width)
    down = (-slope * height, height)
    corners = (*left, *right, right[0] + down[0], right[1] + down[1], left[0] + down[0], left[1] + down[1])
    return RecognisedLine(text, 0.9, corners)


def _image(mode: str = "L", size: tuple[int, int] = (600, 300), number: int = 0) -> Image.Image:
    made = Image.new("L", size, 255)
    ImageDraw.Draw(made).rectangle((50, 50, 300 + 20 * number, 80), fill=0)
    return made.convert(mode)


def _saved(image: Image.Image, format: str, **options: object) -> bytes:
    target = io.BytesIO()
    image.save(target, format, **options)
    return target.getvalue()


def _scans(*images: Image.Image) -> bytes:
    first, *others = images
    return _saved(first, "PDF", save_all=True, append_images=others)


async def _document(parser: Parser, raw: bytes) -> ExtractedDocument:
    (document,) = [one async for one in parser.documents(raw, formats.sniff(raw, "a"))]
    assert isinstance(document, ExtractedDocument)
    return document


def _read(raw: bytes, recognised: Recognised | None) -> ExtractedDocument:
    file = InputFile(raw, "a", None, None if recognised is None else recognised.of)
    (document,) = worker.read(file, formats.sniff(raw, "a"))
    assert isinstance(document, ExtractedDocument)
    return document


async def test_pictures_and_scanned_pages_are_read_with_their_pages() -> None:
    one, two = _image(), _image(number=1)
    exif = Image.Exif()
    exif[0x0112] = 6
    upright = one.transpose(Image.Transpose.ROTATE_90)
    transparent = Image.new("RGBA", one.size)
    transparent.putalpha(Image.eval(one, lambda level: 255 - level))
    single = (
        _saved(one, "PNG"),
        _saved(one.convert("1"), "TIFF", compression="group4"),
        _saved(Image.fromarray(np.asarray(one).astype(np.uint16) * 200), "PNG"),
        _saved(transparent, "PNG"),
        _saved(one.convert("RGB"), "JPEG"),
        _saved(upright.convert("RGB"), "JPEG", exif=exif),
    )
    recognised = Recognised()
    async with Parser(LIMITS, None, recognised.lines) as parser:
        for raw in single:
            recognised.seen.clear()
            document = await _document(parser, raw)
            assert (document.text, document.page_starts) == ("Line 1", ())
            (seen,) = recognised.seen
            assert (seen.width, seen.height) == one.size
            assert (seen.pixels[300 * 60 + 5] > 200, seen.pixels[600 * 60 + 100] < 50) == (True, True)
        for raw in (_saved(one, "TIFF", save_all=True, append_images=[two]), _scans(one, two)):
            recognised.seen.clear()
            document = await _document(parser, raw)
            assert (document.text, document.page_starts) == ("Line 1\n\nLine 2", (0, 8))


def test_pictures_in_documents_are_read_at_their_place_and_small_ones_and_those_below_text_are_not() -> None:
    image, small = _saved(_image(), "PNG"), _saved(_image(size=(60, 30)), "PNG")
    word, recognised = docx.Document(), Recognised()
    for raw in (image, small, image):
        word.add_paragraph("Before.")
        word.add_picture(io.BytesIO(raw))
    document = _read(made_files.saved(word), recognised)
    assert document.text.split() == ["Before.", "Line", "1", "Before.", "Before.", "Line", "1"]
    assert len(recognised.seen) == 1, "the same picture is recognised once"
    deck = pptx.Presentation()
    for _ in range(2):
        deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_picture(io.BytesIO(image), Inches(1), Inches(1))
    document = _read(made_files.saved(deck), Recognised())
    assert (document.text, document.page_starts) == ("Line 1\n\nLine 1", (0, 8))
    drawn = Canvas("")
    drawn.drawString(72, 800, "Above.")
    drawn.drawImage(ImageReader(_image()), 72, 400, 400, 200)
    drawn.drawString(72, 300, "Below.")
    drawn.drawImage(ImageReader(_image(number=1)), 72, 50, 400, 200)
    drawn.drawString(100, 100, "Its text.")
    recognised = Recognised()
    assert (_read(drawn.getpdfdata(), recognised)).text.split() == ["Above.", "Line", "1", "Below.", "Its", "text."]
    assert len(recognised.seen) == 1


def test_without_ocr_files_with_pictures_only_are_refused_with_how_to_get_it_and_others_are_read() -> None:
    for raw, code in ((_saved(_image(), "PNG"), "unsupported_format"), (_scans(_image()), "no_text")):
        with pytest.raises(UnreadableFile, match="pip install") as refused:
            _read(raw, None)
        assert refused.value.code == code
    drawn = Canvas("")
    drawn.drawString(72, 800, "Text.")
    drawn.showPage()
    drawn.drawImage(ImageReader(_image()), 72, 400, 400, 200)
    document = _read(drawn.getpdfdata(), None)
    assert (document.text, len(document.warnings)) == ("Text.\n\n", 1)
    assert "Not read, because they are pictures: page 2." in document.warnings[0]


def test_only_the_first_pictures_of_a_file_are_read_and_a_warning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_PICTURES", 1)
    word = docx.Document()
    for number in range(2):
        word.add_picture(io.BytesIO(_saved(_image(number=number), "PNG")))
    document = _read(made_files.saved(word), Recognised())
    assert document.text.strip() == "Line 1"
    assert document.warnings == ("Only the first 1 pictures in the file were read.",)


def _png(width: int, height: int, rows: bytes = b"") -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 16, 6, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


async def test_bombs_and_damaged_pictures_are_refused_and_the_next_file_is_read(monkeypatch) -> None:
    jpeg = _saved(_image("RGB"), "JPEG")
    refused = {
        "parse_limit": [_png(60_000, 60_000), _png(6_000, 6_000, bytes(48_001) * 6_000)],
        "damaged": [jpeg[: len(jpeg) // 2], b"\xff\xd8\xff" + bytes(100), _saved(_image(), "PNG")[:200]],
    }
    recognised = Recognised()
    async with Parser(ParseLimits(memory_bytes=256_000_000, cpu_s=10, wall_s=30.0), None, recognised.lines) as parser:
        for code, files in refused.items():
            for raw in files:
                with pytest.raises(UnreadableFile) as raised:
                    _ = [one async for one in parser.documents(raw, formats.sniff(raw, "a"))]
                assert raised.value.code == code
        assert [one async for one in parser.documents(jpeg, formats.PICTURE)]
    assert len(recognised.seen) == 1
    monkeypatch.setattr(pictures, "MAX_PICTURES", 1)
    with pytest.raises(UnreadableFile, match="2 pictures"):
        list(pictures._frames(_saved(_image(), "TIFF", save_all=True, append_images=[_image()])))


async def test_a_page_that_cannot_be_recognised_refuses_the_file_and_a_picture_in_a_text_is_a_warning() -> None:
    recognised = Recognised(fails_from=2)
    async with Parser(LIMITS, None, recognised.lines) as parser:
        with pytest.raises(UnreadableFile, match="could not be recognised") as refused:
            await _document(parser, _scans(_image(), _image(number=1), _image(number=2)))
        assert refused.value.code == "parse_limit"
        word = docx.Document()
        word.add_paragraph("Before.")
        word.add_picture(io.BytesIO(_saved(_image(), "PNG")))
        recognised.fails_from = 1
        document = await _document(parser, made_files.saved(word))
    assert (document.text.strip(), document.warnings) == ("Before.", ("A picture in the file could not be read.",))


async def test_the_time_of_recognition_counts_for_the_request_which_may_be_sent_again_to_continue() -> None:
    raw, share = _scans(_image(), _image(number=1)), ParseShare(seconds=30.0)

    async def slow(picture: Picture) -> Sequence[RecognisedLine]:
        share.used_s += 20
        return await Recognised().lines(picture)

    async with Parser(LIMITS, share, slow) as parser:
        with pytest.raises(UnreadableFile, match="2 pages or pictures are recognised and kept, send the file again"):
            _ = [one async for one in parser.documents(raw, formats.BY_NAME["pdf"])]


async def test_a_page_that_is_larger_than_the_limit_is_read_smaller() -> None:
    """Apps that scan with a telephone write a point for each pixel."""
    recognised = Recognised()
    async with Parser(LIMITS, recognise=recognised.lines) as parser:
        assert (await _document(parser, _scans(_image(size=(1240, 1754))))).text == "Line 1"
    assert recognised.seen[0].width * recognised.seen[0].height > 15_900_000


def test_blank_pages_are_not_sent() -> None:
    recognised = Recognised()
    white = Image.new("L", (600, 300), 255)
    assert (_read(_scans(white, _image(), white), recognised)).text == "\n\nLine 1\n\n"
    assert len(recognised.seen) == 1
    with pytest.raises(UnreadableFile, match="No text was recognised"):
        _read(made_files.pdf([[]]), recognised)


def test_lines_of_a_skewed_page_become_upright_runs_of_one_size() -> None:
    lines = [
        _line(f"Line {row}", 100, 100 + 40 * row, width=1_200, height=28 + row % 3, slope=0.035) for row in range(9)
    ]
    runs = pictures.runs(lines, 2.0, 1_000)
    assert {round(run.size, 1) for run in runs} == {14.5}
    assert [run.y0 for run in runs] == sorted((run.y0 for run in runs), reverse=True)
    assert all(above.y0 > below.y1 for above, below in itertools.pairwise(runs)), "no line overlaps the next"
