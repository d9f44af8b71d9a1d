"""Recognises the format of a file by its first bytes; its name only distinguishes formats that are plain text."""

from __future__ import annotations

import re
from typing import Literal

from app.errors import UnreadableFile

Format = Literal[
    "text", "markdown", "code", "rst", "html", "csv", "json_lines", "email", "pdf", "word", "slides", "sheets", "book"
]
"""Formats that can be read."""
Sniffed = Format | Literal["archive"]
"""What the first bytes show: Office files and books are ZIP archives, which only their content distinguishes."""

DECODED: tuple[Sniffed, ...] = ("text", "markdown", "code", "rst")
"""Formats that need no parser."""
TEXTUAL: tuple[Sniffed, ...] = ("csv", "json_lines")
"""Formats that are parsed and that are plain text: the parser takes them as UTF-8."""
_CODE = (
    "c cc cpp cs cxx dart ex exs go h hh hpp hs java jl js jsx kt kts lua m mjs ml php pl proto ps1 py pyi r rb rs "
    "scala sh sql swift ts tsx vb zig"
)
_TEXT_SUFFIXES: dict[str, Format] = {
    **dict.fromkeys(("txt", "text"), "text"),
    **dict.fromkeys(("md", "markdown", "mdown", "mkd"), "markdown"),
    **dict.fromkeys(("rst", "rest"), "rst"),
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    **dict.fromkeys(("csv", "tsv"), "csv"),
    **dict.fromkeys(("jsonl", "ndjson"), "json_lines"),
    "eml": "email",
    **dict.fromkeys(_CODE.split(), "code"),
}
BINARY_SUFFIXES = frozenset({"pdf", "docx", "pptx", "xlsx", "xlsm", "xlsb", "ods", "epub"})
SUFFIXES = BINARY_SUFFIXES | _TEXT_SUFFIXES.keys()
"""Suffixes, without their point, of the files that are read from folders."""
SUPPORTED = (
    "text, Markdown, reStructuredText, HTML, PDF, DOCX, PPTX, XLSX, ODS, CSV, JSON lines, EPUB, EML and source code"
)
_HEAD = 4_096
_PDF_WINDOW = 1_024  # a PDF may have other bytes before its header
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")
_BINARY = (
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
_HTML = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|<\?xml[^>]*>|<!--.*?-->)*<(?:!doctype\s+html|html[\s>])", re.I | re.S)


def sniff(raw: bytes, name: str) -> Sniffed:
    """The format of a file with this content and name.

    Raises UnreadableFile (`unsupported_format`, `encrypted`, `damaged`).
    """
    head = raw[:_HEAD]
    if b"%PDF-" in head[:_PDF_WINDOW]:
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "archive"
    if head.startswith(_OLD_OFFICE):
        raise _old_office(raw)
    if head.startswith(_BINARY):
        raise unsupported()
    if _HTML.match(head):
        return "html"
    if suffix(name) in BINARY_SUFFIXES and b"\x00" in head:
        raise UnreadableFile("damaged", f"The file is named .{suffix(name)} and is none: transfer it again.")
    return _TEXT_SUFFIXES.get(suffix(name), "text")


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
