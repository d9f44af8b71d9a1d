"""Recognises the format of a file by its first bytes; its name only distinguishes formats that are plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from app.errors import UnreadableFile

Content = Literal["plain", "encoded", "binary"]
"""Plain text, which its parser gets in UTF-8; text whose encoding its parser finds; or no text."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format that can be read: its names in messages, and the suffixes of its files without their point.

    `parser` is the module of this package that reads it; empty for plain text that needs none. `signature` matches the
    beginning of every file; `entries` and `mimetypes` are those of which a ZIP archive in this format has one.
    """

    name: str
    content: Content
    listed: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    parser: str = ""
    signature: re.Pattern[bytes] | None = None
    entries: frozenset[str] = frozenset()
    mimetypes: frozenset[bytes] = frozenset()


_CODE = (
    "c cc cpp cs cxx dart ex exs go h hh hpp hs java jl js jsx kt kts lua m mjs ml php pl proto ps1 py pyi r rb rs "
    "scala sh sql swift ts tsx vb zig"
)
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s++|<\?xml[^>]*+>|<!--(?:(?!-->).)*+-->)*+<(?:!doctype\s+html|html[\s>])", re.I | re.S
)
_PDF = re.compile(rb".{0,1019}?%PDF-", re.S)  # a PDF may have other bytes before its header
TEXT = FileFormat("text", "plain", ("text",), ("txt", "text"))
MARKDOWN = FileFormat("markdown", "plain", ("Markdown",), ("md", "markdown", "mdown", "mkd"))
RST = FileFormat("rst", "plain", ("reStructuredText",), ("rst", "rest"))
ARCHIVE = FileFormat("archive", "binary")
"""What the first bytes of Office files and books show: only the entries of the archive distinguish them."""
FORMATS = (
    TEXT,
    MARKDOWN,
    RST,
    FileFormat("html", "encoded", ("HTML",), ("html", "htm", "xhtml"), "html_text", signature=_HTML),
    FileFormat("pdf", "binary", ("PDF",), ("pdf",), "pdf", signature=_PDF),
    FileFormat("word", "binary", ("DOCX",), ("docx",), "word", entries=frozenset({"word/document.xml"})),
    FileFormat("slides", "binary", ("PPTX",), ("pptx",), "slides", entries=frozenset({"ppt/presentation.xml"})),
    FileFormat(
        "sheets",
        "binary",
        ("XLSX", "ODS"),
        ("xlsx", "xlsm", "xlsb", "ods"),
        "sheets",
        entries=frozenset({"xl/workbook.xml", "xl/workbook.bin"}),
        mimetypes=frozenset({b"application/vnd.oasis.opendocument.spreadsheet"}),
    ),
    FileFormat("csv", "plain", ("CSV",), ("csv", "tsv"), "csv_rows"),
    FileFormat("json_lines", "plain", ("JSON lines",), ("jsonl", "ndjson"), "json_lines"),
    FileFormat("book", "binary", ("EPUB",), ("epub",), "book", mimetypes=frozenset({b"application/epub+zip"})),
    FileFormat("email", "encoded", ("EML",), ("eml",), "mail"),
    FileFormat("code", "plain", ("source code",), tuple(_CODE.split())),
)
"""All formats, in the order in which messages list them."""
BY_NAME = {format.name: format for format in (*FORMATS, ARCHIVE)}
_BY_SUFFIX = {suffix: format for format in FORMATS for suffix in format.suffixes}
SUFFIXES = frozenset(_BY_SUFFIX)
"""Suffixes, without their point, of the files that are read from folders."""
BINARY_SUFFIXES = frozenset(suffix for suffix, format in _BY_SUFFIX.items() if format.content == "binary")
_LISTED = [name for format in FORMATS for name in format.listed]
SUPPORTED = f"{', '.join(_LISTED[:-1])} and {_LISTED[-1]}"
_HEAD = 4_096
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")
_UNSUPPORTED = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"II*\x00",
    b"MM\x00*",
    b"\x1f\x8b",
    b"BZh9",
    b"7z\xbc\xaf",
    b"\xfd7zXZ",
    b"Rar!",
    b"\x7fELF",
    b"MZ\x90",
    b"SQLite format 3\x00",
    b"%!PS",
    b"{\\rtf",
)


def sniff(raw: bytes, name: str) -> FileFormat:
    """The format of a file with this content and name.

    Raises UnreadableFile (`unsupported_format`, `encrypted`, `damaged`).
    """
    head = raw[:_HEAD]
    if (signed := _signed(head, "binary")) is not None:
        return signed
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ARCHIVE
    if head.startswith(_OLD_OFFICE):
        raise _old_office(raw)
    if head.startswith(_UNSUPPORTED):
        raise unsupported()
    if (signed := _signed(head, "encoded")) is not None:
        return signed
    named = _BY_SUFFIX.get(suffix(name), TEXT)
    if named.content != "binary":
        return named
    if b"\x00" in head:
        raise UnreadableFile("damaged", f"The file is named .{suffix(name)} and is none: transfer it again.")
    return TEXT


def _signed(head: bytes, content: Content) -> FileFormat | None:
    found = (one for one in FORMATS if one.content == content and one.signature and one.signature.match(head))
    return next(found, None)


def suffix(name: str) -> str:
    """The suffix of a file name in lower case, without its point; empty if there is none."""
    stem, point, last = name.rpartition(".")
    return last.lower() if point and stem else ""


def unsupported() -> UnreadableFile:
    """The error for a file of another format."""
    return UnreadableFile("unsupported_format", f"The file has a format that cannot be read: send {SUPPORTED}.")


def _old_office(raw: bytes) -> UnreadableFile:
    if _ENCRYPTED_OFFICE in raw:
        return UnreadableFile("encrypted", "The file is protected by a password: save it without one.")
    message = "The format of Office before 2007 cannot be read: save the file as DOCX, PPTX or XLSX."
    return UnreadableFile("unsupported_format", message)
