"""Reads RTF: headings, paragraphs, list items, tables and notes in their order.

The text is read in one pass over control words, groups and characters. A group whose first control word names a
destination without text of the document, such as a picture or a table of fonts, is left out.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from app.errors import UnreadableFile
from app.parsing import markup
from app.parsing.files import ExtractedDocument, InputFile

MAX_DEPTH = 1_000
"""Groups within groups."""
_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<symbol>.)"
    rb"|(?P<brace>[{}])|[\r\n\x00]+|(?P<text>[^\\{}\r\n\x00]+)",
    re.S,
)
_NOT_TEXT = (
    "annotation atnauthor atndate atnid atnref background bkmkend bkmkstart category colortbl comment company "
    "datafield datastore do doccomm filetbl fldinst footer footerf footerl footerr ftncn ftnsep ftnsepc generator "
    "header headerf headerl headerr hlinkbase keywords latentstyles listoverridetable listtable manager nonshppict "
    "objclass objdata objname operator pict pn printim private revtbl revtim rsidtbl rxe shpinst shprslt sn sp sv "
    "subject tc template themedata txe userprops version xe xmlnstbl"
)
_LEFT_OUT = frozenset(_NOT_TEXT.split())
_CHARACTERS = {
    "tab": " ", "emspace": " ", "enspace": " ", "qmspace": " ", "line": "\n", "softline": "\n", "emdash": "—",
    "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
}  # fmt: skip
_SYMBOLS = {"~": "\xa0", "_": "-", "-": "", "{": "{", "}": "}", "\\": "\\"}
_CHARSETS = {
    0: "", 1: "", 2: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
_HEADING = re.compile(r"heading ([1-9])", re.I)
_PARAGRAPH_ENDS = frozenset({"par", "sect", "page", "column"})
_OUTLINE_LEVELS = 9
_NOTE = " ("


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author and creation time. Raises UnreadableFile for one whose end is missing."""
    reader = _Reader(file.raw)
    reader.run()
    text = "\n\n".join(reader.blocks())
    if not text:
        raise UnreadableFile("no_text", "The document contains no text; text in images is not read.")
    title, author = (" ".join("".join(reader.properties[name]).split()) for name in ("title", "author"))
    yield ExtractedDocument(
        text, title=title, metadata={"author": author} if author else {}, created_at=reader.created_at()
    )


@dataclass(slots=True)
class _Group:
    """What a group inherits: the destination of its text (empty: the document), its encoding, and what is hidden.

    `skipped` is the number of characters that follow a Unicode character for readers that know none. `closing` is text
    at the end of the group.
    """

    destination: str = ""
    encoding: str = ""
    skipped: int = 1
    hidden: bool = False
    closing: str = ""


@dataclass(slots=True)
class _Paragraph:
    """The properties of the current paragraph, which `pard` resets."""

    level: int = 0
    in_table: bool = False
    is_item: bool = False


@dataclass(slots=True)
class _Reader:
    """Reads a document; `properties` are the parts of its title and author."""

    raw: bytes
    encoding: str = "cp1252"
    properties: dict[str, list[str]] = field(default_factory=lambda: {"title": [], "author": []})
    _groups: list[_Group] = field(default_factory=list)
    _group: _Group = field(default_factory=_Group)
    _paragraph: _Paragraph = field(default_factory=_Paragraph)
    _begins: bool = False
    _ignorable: bool = False
    _to_skip: int = 0
    _bytes: bytearray = field(default_factory=bytearray)
    _parts: list[str] = field(default_factory=list)
    _cells: list[str] = field(default_factory=list)
    _rows: list[list[str]] = field(default_factory=list)
    _blocks: list[str] = field(default_factory=list)
    _fonts: dict[int, str] = field(default_factory=dict)
    _font: int = 0
    _style: int = 0
    _style_name: list[str] = field(default_factory=list)
    _levels: dict[int, int] = field(default_factory=dict)
    _time: dict[str, int] = field(default_factory=dict)

    def run(self) -> None:
        """Read the whole file. Raises UnreadableFile."""
        place = 0
        while (token := _TOKEN.match(self.raw, place)) is not None:
            place = token.end()
            kind = token.lastgroup
            if kind == "text":
                self._add_bytes(token["text"])
            elif kind == "hex":
                self._add_bytes(bytes.fromhex(token["hex"].decode()))
            elif kind == "brace":
                self._flush()
                if token["brace"] == b"{":
                    self._open()
                elif self._close():
                    return
            elif kind == "symbol":
                self._symbol(token["symbol"].decode("latin-1"))
            elif kind in ("word", "number"):
                number = int(token["number"]) if token["number"] is not None else None
                place += self._word(token["word"].decode(), number)
        raise UnreadableFile("damaged", "The document is incomplete: its end is missing. Transfer it again.")

    def blocks(self) -> list[str]:
        """The blocks of the document, once it has been read."""
        self._paragraph.in_table = False
        self._end_paragraph()
        self._end_table()
        return [block for block in self._blocks if block]

    def created_at(self) -> datetime | None:
        """The time of its creation, as the clock of its author showed it."""
        time = self._time
        with suppress(KeyError, ValueError, OverflowError):
            return datetime(time["yr"], time["mo"], time["dy"], time.get("hr", 0), time.get("min", 0), tzinfo=UTC)
        return None

    def _open(self) -> None:
        if len(self._groups) >= MAX_DEPTH:
            raise UnreadableFile("damaged", "The document has too many groups within each other.")
        self._groups.append(self._group)
        self._group = replace(self._group, closing="")
        self._begins, self._to_skip = True, 0

    def _close(self) -> bool:
        """End a group; True for that of the whole document."""
        self._end_style()
        if self._group.closing:
            self._add(self._group.closing)
        if not self._groups:
            return True
        self._group = self._groups.pop()
        self._begins, self._to_skip = False, 0
        return not self._groups

    def _word(self, word: str, number: int | None) -> int:
        """Apply a control word; returns how many bytes that follow it are no text."""
        self._flush()
        begins, ignorable = self._begins, self._ignorable
        self._begins = self._ignorable = False
        if word == "bin":
            return max(0, number or 0)
        if word == "u" and number is not None:
            self._add(chr(number % 0x10000))
            self._to_skip = self._group.skipped
        elif begins and self._is_destination(word, ignorable):
            self._group.destination = word
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        elif not self._group.destination:
            self._format(word, number)
        else:
            self._describe(word, number)
        self._set_encoding(word, number)
        return 0

    def _is_destination(self, word: str, ignorable: bool) -> bool:
        """Whether a group with this control word at its beginning holds something else than the group around it."""
        if word == "shptxt":  # the text of a text box, within groups that describe its shape
            self._group.destination = ""
            return False
        if word == "listtext" or word == "pntext":
            self._paragraph.is_item = True
            return True
        named = word in _LEFT_OUT or word in ("fonttbl", "stylesheet", "info", "title", "author", "creatim")
        return named or ignorable

    def _format(self, word: str, number: int | None) -> None:
        """Apply a control word to the text of the document."""
        if word in _PARAGRAPH_ENDS:
            self._end_paragraph()
        elif word in ("cell", "nestcell"):
            self._cells.append(self._taken())
        elif word in ("row", "nestrow"):
            self._end_row()
        elif word in ("pard", "intbl", "outlinelevel", "s"):
            self._format_paragraph(word, number or 0)
        elif word in ("v", "deleted", "plain"):
            self._group.hidden = number != 0 and word != "plain"
        elif word == "footnote":
            self._add(_NOTE)
            self._group.closing = ")"

    def _format_paragraph(self, word: str, number: int) -> None:
        if word == "pard":
            self._paragraph = _Paragraph(is_item=self._paragraph.is_item and bool(self._parts))
        elif word == "intbl":
            self._paragraph.in_table = True
        elif word == "s":
            self._paragraph.level = self._levels.get(number, 0)
        else:
            self._paragraph.level = number + 1 if 0 <= number < _OUTLINE_LEVELS else 0

    def _describe(self, word: str, number: int | None) -> None:
        """Apply a control word of the tables of fonts and styles, or of the time of creation."""
        destination = self._group.destination
        if destination == "stylesheet":
            if word == "s":
                self._style = number or 0
            elif word == "outlinelevel" and number is not None and 0 <= number < _OUTLINE_LEVELS:
                self._levels[self._style] = number + 1
        elif destination == "fonttbl":
            if word == "f":
                self._font = number or 0
            elif word == "fcharset":
                self._fonts[self._font] = _CHARSETS.get(number or 0, "")
        elif destination == "creatim" and number is not None:
            self._time[word] = number

    def _set_encoding(self, word: str, number: int | None) -> None:
        if word == "ansicpg" and number is not None:
            self.encoding = _known(f"cp{number}") or self.encoding
        elif word == "mac":
            self.encoding = "mac_roman"
        elif word == "uc":
            self._group.skipped = max(0, min(number or 0, 100))
        elif word in ("f", "deff") and self._group.destination != "fonttbl":
            self._group.encoding = self._fonts.get(number or 0, "")

    def _symbol(self, symbol: str) -> None:
        self._flush()
        if symbol == "*":
            self._ignorable = self._begins
        elif symbol in "\r\n":
            self._format("par", None)
        elif symbol in _SYMBOLS:
            self._add(_SYMBOLS[symbol])

    def _add_bytes(self, found: bytes) -> None:
        """Add characters in the encoding of their font, those that repeat a Unicode character left out."""
        self._begins = False
        skipped = min(self._to_skip, len(found))
        self._to_skip -= skipped
        if self._group.destination != "pict":
            self._bytes += found[skipped:]

    def _flush(self) -> None:
        """Decode the characters that were added; those of several bytes may be written byte by byte."""
        if self._bytes:
            self._add(self._bytes.decode(self._group.encoding or self.encoding, "replace"))
            self._bytes.clear()

    def _add(self, text: str) -> None:
        self._begins = False
        destination = self._group.destination
        if not destination:
            if not self._group.hidden:
                self._parts.append(text.lstrip() if self._parts and self._parts[-1] == _NOTE else text)
        elif destination in self.properties:
            self.properties[destination].append(text)
        elif destination == "stylesheet":
            self._style_name.append(text)

    def _end_style(self) -> None:
        """Note the level of a style of headings, which has a name in English in every language of the program."""
        if self._group.destination == "stylesheet" and self._style_name:
            if (named := _HEADING.match("".join(self._style_name).strip())) is not None:
                self._levels.setdefault(self._style, int(named[1]))
            self._style_name.clear()
            self._style = 0

    def _taken(self) -> str:
        """The text since the last end of a paragraph or cell."""
        self._flush()
        text = "".join(self._parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self._parts.clear()
        return text

    def _end_paragraph(self) -> None:
        if self._paragraph.in_table:
            self._add("\n")
            return
        text = self._taken()
        if not text.strip():
            return
        self._end_table()
        if self._paragraph.level:
            self._blocks.append(markup.heading(self._paragraph.level, text))
        elif self._paragraph.is_item:
            self._blocks.append("- " + " ".join(text.split()))
        else:
            self._blocks.append(markup.paragraph(text))
        self._paragraph.is_item = False

    def _end_row(self) -> None:
        if self._cells:
            self._rows.append(self._cells)
            self._cells = []
        self._paragraph = _Paragraph()

    def _end_table(self) -> None:
        if self._cells:
            self._end_row()
        if self._rows:
            self._blocks.append(markup.table(self._rows))
            self._rows = []


def _known(encoding: str) -> str:
    """The encoding if there is one with this name, else an empty string."""
    if encoding == "cp65001":
        return "utf-8"
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        return ""
