"""Reads the words of a page of a PDF with their boxes, the values of its form fields, and its notes.

Words that do not run from left to right are turned.

Coordinates are points, with y upwards, as in PDF.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import re
import statistics
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw as pdfium_c

from app.parsing.pages.page_layout import TextRun

WIDE_GAP = 2.0
"""Horizontal gap, as a multiple of the size, that ends a run."""
SKEW = 5
"""Text at an angle of at most this many degrees counts as level, as in a scan."""
HYPHEN, HYPHENS = "\ufffe", "\ufffe\x02"
"""PDFium's marks of a hyphen at the end of a line: in a text, and as characters."""
_HYPHENS = frozenset(HYPHENS)
_BLANK = frozenset(" \t\r\n\x00\xa0")
_MARKS = (*range(0x300, 0x305), 0x306, 0x307, 0x308, 0x30A, 0x30B, 0x30C, 0x327, 0x328)
LONGEST_LINE, MOST_ACCENTS = 200, 3_000
"""The letter of an accent is searched in this many characters before it, for at most this many accents of a page."""
_ACCENTS = dict(
    zip("`\u00b4\u02c6\u02dc\u00af\u02d8\u02d9\u00a8\u02da\u02dd\u02c7\u00b8\u02db", map(chr, _MARKS), strict=True)
)
_DOTLESS = {"\u0131": "i", "\u0237": "j"}
_LIGATURES = dict(
    zip("\v\f\x0e\x0f\x1b\x1c\x1d\x1e\x1f", ("ff", "fi", "ffi", "ffl", "ff", "fi", "fl", "ffi", "ffl"), strict=True)
)
"""The codes of TeX's ligatures, in fonts that do not name their characters."""
_BULLET = "\x88"
"""The code of TeX's bullet in such fonts."""
_MARKED = re.compile(
    r"(?<!\w)(?:\d{1,2}[^\W\d_]{2,}|[a-z][A-Z][a-z]+|\d[\d.,]{0,20}[\d\-−]\d{0,2}|[^\W\d_]{3,}\d{1,2}|[A-Z][^\W\d_]+[a-z][a-h])(?!\w)"
)
"""Words and numbers that may begin or end with a note's mark or an exponent: 1Department, Sandersonb, 106, 10-3."""
RAISED = 1.0
"""Points from the base of a line to the base of a raised sign, at least."""
MARK = 0.9
"""A raised or lowered sign at the end of a word has at most this share of the height of its first character."""
_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_SHAPED = re.compile("[\u0590-\u08ff\u0900-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Letters of scripts that programs write as clusters: several glyphs with one text."""
_LETTERS_TO_LEFT = re.compile("[\u0590-\u065f\u066e-\u06ef\u06fa-\u08ff]{2,}")
"""Letters and marks of Hebrew and Arabic without digits."""
_ALEFS, _LAM = frozenset("اأإآى"), "ل"
SAME_PLACE = 0.05
"""Points between characters of one glyph, at most."""
NO_SPACE = 0.13
"""Gap between two clusters, as a share of the size, that is not a space."""
MAX_GLYPHS = 50_000
"""Most texts of a page that are examined for clusters."""
Box = tuple[float, float, float, float]
Cell = tuple[int, int, int]
"""A cell of a table: the number of the table on the page, of the row and of the column."""
MAX_ANNOTATIONS = 5_000
"""Most annotations of a page that are read."""
MAX_STAMPS = 20
"""Most stamps of a page that are examined: their drawings may be large."""
_HIDDEN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW
_CHECKED = (pdfium_c.FPDF_FORMFIELD_CHECKBOX, pdfium_c.FPDF_FORMFIELD_RADIOBUTTON)
_CHOICES = (pdfium_c.FPDF_FORMFIELD_COMBOBOX, pdfium_c.FPDF_FORMFIELD_LISTBOX)
_NO_VALUE = (pdfium_c.FPDF_FORMFIELD_PUSHBUTTON, pdfium_c.FPDF_FORMFIELD_SIGNATURE)
_FONT = ctypes.create_string_buffer(100)
"""Where PDFium writes the name of a font."""
_BOLD = re.compile(rb"(?i)bold|black|heavy|demi|medi(?:um)?$|(?:^|\+)(?:cm|ec|sf)(?:ss)?bx")
_RECT = pdfium_c.FS_RECTF()
_RECT_POINTER = ctypes.byref(_RECT)
"""Where PDFium writes the box of a character. All characters share it."""
_MATRIX = pdfium_c.FS_MATRIX()
_MATRIX_POINTER = ctypes.byref(_MATRIX)
"""Where PDFium writes how a character is turned. All characters share it."""
_NO_NOTE = (pdfium_c.FPDF_ANNOT_LINK, pdfium_c.FPDF_ANNOT_POPUP, pdfium_c.FPDF_ANNOT_WIDGET)


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its box, turned so that its line is level.

    `angle` is the angle of its line on the page, clockwise in degrees. `is_first` is set if it begins a line, `is_bold`
    if its font and the fonts of the words before it in its line are bold.
    """

    text: str
    box: Box
    angle: int = 0
    is_first: bool = False
    is_bold: bool = False


@dataclass(frozen=True, slots=True)
class PageTurn:
    """Turns a page so that lines at an angle become level."""

    x: float
    y: float

    @classmethod
    def of(cls, angle: int) -> PageTurn:
        """The turn for an angle in degrees, clockwise."""
        return cls(math.cos(math.radians(angle)), -math.sin(math.radians(angle)))

    def box(self, box: Box) -> Box:
        """A box on the turned page."""
        (x0, y0), (x1, y1) = self.point(*box[:2]), self.point(*box[2:])
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A point on the turned page."""
        return x * self.x + y * self.y, y * self.x - x * self.y


LEVEL = PageTurn.of(0)


def characters(page: pdfium.PdfTextPage) -> list[str]:
    """The text of each character in the order of the page's content, with accents on their letters.

    In old fonts an accent is a separate sign, drawn over its letter. It follows the letter or the line.
    """
    codes = [chr(pdfium_c.FPDFText_GetUnicode(page, place)) for place in range(page.count_chars())]
    found = ["•" if code == _BULLET else code for code in codes]
    for place in [place for place, one in enumerate(found) if one in _ACCENTS][:MOST_ACCENTS]:
        _place_accent(page, found, place)
    for place in [place for place, one in enumerate(found) if one in _LIGATURES]:
        if any(map(str.islower, found[max(0, place - 1) : place + 2])):
            found[place] = _LIGATURES[found[place]]
    if _SHAPED.search("".join(found)):
        _join_clusters(page, found)
        for match in _LETTERS_TO_LEFT.finditer("".join(one if len(one) == 1 else "x" for one in found)):
            _order_letters(page, found, range(*match.span()))
    for match in _MARKED.finditer("".join(one if len(one) == 1 else "x" for one in found)):
        _part_mark(page, found, match.span())
    return found


@dataclass(slots=True)
class _Cluster:
    """The glyphs with one text (`ActualText`), from left to right, and the glyph with which the text was read."""

    left: float
    right: float
    reader: int = 0


def _clusters(page: pdfium.PdfTextPage) -> dict[int, _Cluster]:
    """The clusters of a page by the addresses of their glyphs."""
    by_mark: dict[int, _Cluster] = {}
    found: dict[int, _Cluster] = {}
    glyphs = page.page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_TEXT], max_depth=1)
    for glyph in itertools.islice(glyphs, MAX_GLYPHS):
        count = pdfium_c.FPDFPageObj_CountMarks(glyph)
        mark = pdfium_c.FPDFPageObj_GetMark(glyph, count - 1) if count > 0 else None
        if mark and pdfium_c.FPDFPageObjMark_GetParamValueType(mark, b"ActualText") == pdfium_c.FPDF_OBJECT_STRING:
            left, _bottom, right, _top = glyph.get_bounds()
            cluster = by_mark.setdefault(_address(mark), _Cluster(left, right))
            cluster.left, cluster.right = min(left, cluster.left), max(right, cluster.right)
            found[_address(glyph.raw)] = cluster
    return found


def _address(pointer: Any) -> int:
    return ctypes.addressof(pointer.contents) if pointer else 0


def _join_clusters(page: pdfium.PdfTextPage, found: list[str]) -> None:
    """Remove texts that were read with several glyphs of their cluster, and spaces inside words between clusters.

    PDFium reads a cluster with its first glyph, takes this glyph for the whole, and may read the cluster again.
    """
    clusters = _clusters(page)
    last, size, right, blanks = None, 0.0, 0.0, list[int]()
    for place in range(len(found) if clusters else 0):
        if pdfium_c.FPDFText_IsGenerated(page, place) == 1:
            blanks.append(place)
            continue
        address = _address(pdfium_c.FPDFText_GetTextObject(page, place))
        cluster = clusters.get(address)
        if cluster is not None:
            cluster.reader = cluster.reader or address
            if cluster.reader != address:
                found[place], last = "", cluster
                continue
        box = _box(page, place, 0)
        left = cluster.left if cluster else box[0]
        if (
            (cluster or last)
            and blanks
            and found[place] not in _BLANK
            and right - size < left < right + NO_SPACE * size
        ):
            for blank in blanks:
                found[blank] = ""
        size = size if cluster and size else box[3] - box[1]  # the box of a cluster is as high as its first glyph
        last, right, blanks = cluster, cluster.right if cluster else box[2], []


def _order_letters(page: pdfium.PdfTextPage, found: list[str], places: range) -> None:
    """Put the letters of a word in the order in which they are read, if PDFium left them as they are drawn."""
    origins = {place: _origin(page, place)[0] for place in places}
    letters = [place for place in places if not unicodedata.combining(found[place])]
    steps = [origins[other] - origins[one] for one, other in itertools.pairwise(letters)]
    is_drawn = sum(step > SAME_PLACE for step in steps) > sum(step < -SAME_PLACE for step in steps)
    if is_drawn and not round(_angle(page, places.start), 1):
        key = {place: (-round(origins[place], 1), unicodedata.combining(found[place]) > 0) for place in places}
        found[places.start : places.stop] = [found[place] for place in sorted(reversed(places), key=key.__getitem__)]
        return
    for one, other in itertools.pairwise(places):
        is_pair = found[one] in _ALEFS and found[other] == _LAM
        if is_pair and abs(_box(page, one, 0)[0] - _box(page, other, 0)[0]) <= SAME_PLACE:  # a ligature begins with lam
            found[one], found[other] = found[other], found[one]


def _part_mark(page: pdfium.PdfTextPage, found: list[str], word: tuple[int, int]) -> None:
    """Put a space between a level word and the raised mark at its beginning or end."""
    if round(_angle(page, word[0]), 1):
        return
    heights = [_origin(page, place)[1] for place in range(*word)]
    steps = [at for at, (one, other) in enumerate(itertools.pairwise(heights), 1) if abs(one - other) >= RAISED]
    if len(steps) == 1:
        place = word[0] + steps[0]
        ends = found[word[0] : place], found[place : word[1]]
        mark = "".join(ends[heights[0] < heights[-1]]).lstrip("-−")
        if len(mark) <= 2 and (mark.isdecimal() or (len(mark) == 1 and mark.islower())):
            found[place] = " " + found[place]


def _place_accent(page: pdfium.PdfTextPage, found: list[str], place: int) -> None:
    """Move an accent to the letter under it, if Unicode has the letter with this accent."""
    left, bottom, right, top = _box(page, place, 0)
    around = range(max(0, place - 1), min(place + 2, len(found)))
    is_alone = all(other == place or found[other] in _BLANK for other in around)
    for other in range(place - 1, max(-1, place - LONGEST_LINE), -1) if is_alone else reversed(around):
        letter = unicodedata.normalize("NFC", _DOTLESS.get(found[other], found[other]) + _ACCENTS[found[place]])
        if len(letter) == 1 and letter.isalpha():
            x0, y0, x1, y1 = _box(page, other, 0)
            if x0 <= (left + right) / 2 <= x1 and y0 <= (bottom + top) / 2 <= y1:
                found[other], found[place] = letter, ""
                return


def words(page: pdfium.PdfTextPage, characters: Sequence[str]) -> Iterator[Word]:
    """The words in the order of the page's content, as PDFium separates words and lines."""
    text, begin = "", 0
    is_first = is_bold = True
    for place, character in enumerate(itertools.chain(characters, "\n")):
        is_blank = character in _BLANK
        if not is_blank:
            begin = begin if text else place
            text += character
        if text and (is_blank or character in _HYPHENS):
            is_bold = (is_first or is_bold) and _BOLD.search(_font(page, begin)) is not None
            yield _word(page, text, (begin, place - is_blank), is_first, is_bold)
            text, is_first = "", character in _HYPHENS
        is_first = is_first or character == "\n"


def _word(page: pdfium.PdfTextPage, text: str, places: tuple[int, int], is_first: bool, is_bold: bool) -> Word:
    """A word. `places` has the places of its first and last character. A smaller last character adds no height.

    The characters of a word that is read from right to left may be in any order.
    """
    angle = round(math.degrees(_angle(page, places[0]))) % 360
    quarter = round(angle / 90) * 90
    angle = quarter % 360 if abs(angle - quarter) <= SKEW else angle
    to_left = unicodedata.bidirectional(text[0]) in _RIGHT_TO_LEFT
    boxed = range(places[0], places[1] + 1) if to_left else dict.fromkeys(places)
    left, bottom, right, top = zip(*(_box(page, place, angle) for place in boxed), strict=True)
    whole = join(text).replace(HYPHEN, "-").replace("\x02", "-")
    is_marked = not to_left and text[0].isalnum() and top[-1] - bottom[-1] < MARK * (top[0] - bottom[0])
    count = 1 if is_marked else None
    box = min(left), min(bottom[:count]), max(right), max(top[:count])
    return Word(whole, box, angle, is_first, is_bold)


def _angle(page: pdfium.PdfTextPage, place: int) -> float:
    """The angle of the base of a character, clockwise in radians. PDFium takes a sheared letter for a turned one."""
    angle: float = pdfium_c.FPDFText_GetCharAngle(page, place)
    if angle and pdfium_c.FPDFText_GetMatrix(page, place, _MATRIX_POINTER):
        return math.atan2(-_MATRIX.b, _MATRIX.a)  # programs shear the letters of a font without italics
    return angle


def _font(page: pdfium.PdfTextPage, place: int) -> bytes:
    """The name of the font of a character."""
    size = pdfium_c.FPDFText_GetFontInfo(page, place, _FONT, len(_FONT), None)
    return _FONT.value if 0 < size <= len(_FONT) else b""


def join(characters: Iterable[str]) -> str:
    """Joins characters to a text. A character beyond the first plane may be two surrogates."""
    return "".join(characters).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _box(page: pdfium.PdfTextPage, place: int, angle: int) -> Box:
    """The box of a character on the page turned by an angle. In a slanted line, it is based on origin and font size."""
    if angle % 90:
        left, base = PageTurn.of(angle).point(*_origin(page, place))
        size = pdfium_c.FPDFText_GetFontSize(page, place)
        return left, base - size / 4, left + size / 2, base + size
    pdfium_c.FPDFText_GetLooseCharBox(page, place, _RECT_POINTER)
    box = _RECT.left, _RECT.bottom, _RECT.right, _RECT.top
    return PageTurn.of(angle).box(box) if angle else box


def _origin(page: pdfium.PdfTextPage, place: int) -> tuple[float, float]:
    """The point on the base of its line at which a character begins."""
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium_c.FPDFText_GetCharOrigin(page, place, x, y)
    return x.value, y.value


def runs(words: Iterable[Word], cell_of: Callable[[Box], Cell | None] | None) -> Iterator[tuple[Cell | None, TextRun]]:
    """Joins the words of one angle to runs. No run crosses the border of a cell."""
    joined: list[Word] = []
    box, cell = (0.0, 0.0, 0.0, 0.0), None
    for word in words:
        within = cell_of(word.box) if cell_of else None
        if joined and (word.is_first or within != cell or _is_apart(box, word)):
            yield cell, _run(joined, box)
            joined = []
        if joined:
            (x0, y0, x1, y1), (left, bottom, right, top) = box, word.box
            box = min(x0, left), min(y0, bottom), max(x1, right), max(y1, top)
        else:
            box, cell = word.box, within
        joined.append(word)
    if joined:
        yield cell, _run(joined, box)


def _run(words: Sequence[Word], box: Box) -> TextRun:
    """A run with the height of most of its text. Raised and lowered signs, and words in other fonts, do not count."""
    heights: defaultdict[tuple[float, float], int] = defaultdict(int)
    for word in words:
        heights[word.box[1], word.box[3]] += len(word.text)
    y0, y1 = box[1], box[3]
    if len(heights) > 1:
        most = max(heights.values())
        y0, y1 = max((one for one, count in heights.items() if 2 * count >= most), key=lambda one: one[1] - one[0])
    return TextRun(" ".join([word.text for word in words]), box[0], y0, box[2], y1, is_bold=words[-1].is_bold)


def _is_apart(box: Box, word: Word) -> bool:
    """Whether a word does not continue the run in a box, because it is far away, on the wrong side or another line."""
    left, bottom, right, top = word.box
    size = max(1.0, top - bottom)
    if not box[1] <= (bottom + top) / 2 <= box[3]:
        return True
    if unicodedata.bidirectional(word.text[0]) in _RIGHT_TO_LEFT:
        return box[0] - right > WIDE_GAP * size or left > box[2]
    return left - box[2] > WIDE_GAP * size or right < box[0]


def values(page: pdfium.PdfPage, turn: PageTurn, words: Iterable[Word] = ()) -> Iterator[TextRun]:
    """The values of the form fields of a turned page, each at its field's place; `[x]` for a checked box.

    Lines are at most as high as the words of the page: the box of a field says nothing about its font.
    """
    if page.formenv is None:
        return
    highest = statistics.median([word.box[3] - word.box[1] for word in words] or [math.inf])
    form = page.formenv
    for annotation in _annotations(page):
        kind = pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation)
        if kind < 0 or kind in _NO_VALUE or pdfium_c.FPDFAnnot_GetSubtype(annotation) != pdfium_c.FPDF_ANNOT_WIDGET:
            continue
        lines = [line.strip() for line in _value(form, annotation, kind).splitlines() if line.strip()]
        rect = pdfium_c.FS_RECTF()
        if lines and pdfium_c.FPDFAnnot_GetRect(annotation, rect):
            left, bottom, right, top = turn.box((rect.left, rect.bottom, rect.right, rect.top))
            height = (top - bottom) / len(lines)
            for number, line in enumerate(lines):  # one below the other in the box of the field
                middle, half = top - (number + 0.5) * height, min(height, highest) / 2
                yield TextRun(line, left, middle - half, right, middle + half)


def _value(form: Any, annotation: Any, kind: int) -> str:
    if kind in _CHECKED:
        return "[x]" if pdfium_c.FPDFAnnot_IsChecked(form, annotation) else ""
    if kind in _CHOICES:
        options = range(pdfium_c.FPDFAnnot_GetOptionCount(form, annotation))
        chosen = [number for number in options if pdfium_c.FPDFAnnot_IsOptionSelected(form, annotation, number)]
        if chosen:
            return "\n".join(_string(pdfium_c.FPDFAnnot_GetOptionLabel, form, annotation, one) for one in chosen)
    return _string(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)


def notes(page: pdfium.PdfPage) -> Iterator[str]:
    """The notes on a page with their authors, and the texts that were written on it."""
    for annotation in _annotations(page):
        text = " ".join(_string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Contents").split())
        if not text or (kind := pdfium_c.FPDFAnnot_GetSubtype(annotation)) in _NO_NOTE:
            continue
        author = " ".join(_string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"T").split())
        if kind == pdfium_c.FPDF_ANNOT_FREETEXT:
            yield text
        else:
            yield f"Note by {author}: {text}" if author else f"Note: {text}"


def has_stamp(page: pdfium.PdfPage) -> bool:
    """Whether a page has a stamp whose text, if any, is only drawn. A stamp of pictures alone does not count."""
    stamps = (one for one in _annotations(page) if pdfium_c.FPDFAnnot_GetSubtype(one) == pdfium_c.FPDF_ANNOT_STAMP)
    silent = (one for one in stamps if not _string(pdfium_c.FPDFAnnot_GetStringValue, one, b"Contents"))
    return any(map(_is_drawn, itertools.islice(silent, MAX_STAMPS)))


def _is_drawn(annotation: Any) -> bool:
    drawn = (pdfium_c.FPDFAnnot_GetObject(annotation, n) for n in range(pdfium_c.FPDFAnnot_GetObjectCount(annotation)))
    return any(pdfium_c.FPDFPageObj_GetType(one) != pdfium_c.FPDF_PAGEOBJ_IMAGE for one in drawn)


def _annotations(page: pdfium.PdfPage) -> Iterator[Any]:
    """The annotations of a page that are shown."""
    for number in range(min(MAX_ANNOTATIONS, pdfium_c.FPDFPage_GetAnnotCount(page))):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, number)
        try:
            if annotation and not pdfium_c.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
                yield annotation
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)


def _string(get: Any, *of: Any) -> str:
    """A text from PDFium. The first call returns its size in bytes."""
    size = get(*of, None, 0)
    buffer = ctypes.create_string_buffer(size)
    get(*of, ctypes.cast(buffer, ctypes.POINTER(pdfium_c.FPDF_WCHAR)), size)
    return buffer.raw[: max(0, size - 2)].decode("utf-16-le", "replace")
