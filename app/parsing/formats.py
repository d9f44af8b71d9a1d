"""Recognises the format of a file by its first bytes. Its name only distinguishes formats that are plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from app.errors import UnreadableFile

Content = Literal["plain", "encoded", "binary"]
"""Plain text, which the parser gets in UTF-8; text whose encoding the parser finds; or binary data."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format that can be read: its names in messages, and the suffixes of its files without the dot.

    `parser` is the module of this package that reads it; empty for plain text that needs none. `signature` matches the
    beginning of every file. A ZIP archive in this format has one of the `entries` or `mimetypes`. `needs_ocr`: all of
    its text is in pictures. docs/documents.md says what is read from each.
    """

    name: str
    content: Content
    listed: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    parser: str = ""
    signature: re.Pattern[bytes] | None = None
    entries: frozenset[str] = frozenset()
    mimetypes: frozenset[bytes] = frozenset()
    needs_ocr: bool = False

    @property
    def label(self) -> str:
        """Its names, as shown in tables."""
        return ", ".join(self.listed)


NEEDS_OCR = (
    'Text in pictures is read by OCR only: install it with `pip install ".[ocr]"` in the folder of the source, '
    "and do not set STEPWELL_OCR=off."
)
_CODE = (
    "c cc cpp cs cxx dart ex exs go h hh hpp hs java jl js jsx kt kts lua m mjs ml php pl pm proto ps1 py pyi pyx r "
    "rb rs scala sh sql swift ts tsx vb zig"
)
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s++|<\?xml[^>]*+>|<!--(?:(?!-->).)*+-->)*+<(?:!doctype\s+html|html[\s>])", re.I | re.S
)
_PDF = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,1000}+%PDF-")
_LATE_PDF, _PDF_IN_LINES = re.compile(rb".{0,1019}?%PDF-", re.S), re.compile(rb".{0,1018}?[\r\n\x00]%PDF-\d", re.S)
"""The header of a PDF behind other bytes, and only at the beginning of a line, where a text hardly mentions it."""
_MBOX = re.compile(
    rb"From (?:(?=[^\r\n]*\d{4})[^\r\n]{1,500}\d\d:\d\d[^\r\n]{0,100}\r?\n(?:>From |[!-9;-~]{1,100}[ \t]?:)"
    rb"|[^\s@]{1,250}@[^\s@]{1,250}\r?\n[!-9;-~]{1,100}:)"
)
_MESSAGE = re.compile(
    rb"(?i)(?:Return-Path:.*<|Delivered-To:.+@).*\n[!-9;-~]+:|Received:[ \t]*(?:from |by |\().*\n[ \t]"
    rb"|(?:[!-9;-~]{1,60}:.*\n(?:[ \t].*\n){0,30}){1,30}?Message-ID:\s*<"
)
"""The headers of a message, as the files of a Maildir begin."""
_OFFICE_AS_XML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+<\?xml[^>]*+>\s*+(?:<\?mso-application\s|<office:document\s|<pkg:package\s)"
)
"""The beginning of a document of LibreOffice or Office that is one file of XML, most of which is about its look."""
_PACKED = re.compile(rb".{257}ustar|\x1f\x8b|BZh[1-9]|\xfd7zXZ", re.S)
_OPENDOCUMENT = "application/vnd.oasis.opendocument."
TEXT = FileFormat(
    "text",
    "plain",
    ("text", "reStructuredText", "AsciiDoc", "Org", "LaTeX"),
    ("txt", "text", "rst", "rest", "adoc", "asciidoc", "org", "tex"),
)
MARKDOWN = FileFormat("markdown", "plain", ("Markdown",), ("md", "markdown", "mdown", "mkd", "mdx", "qmd", "rmd"))
RECORDS = r"""\s*+(?:\{\s*+
    (?:"[^"\\]{0,100}+"\s*+:\s*+(?:"(?:[^"\\]|\\.){0,1000}+"|\{[^][{}]{0,1000}+\}|[-+.\w]{1,40}+)\s*+,\s*+){0,20}+
    "[^"\\]{0,100}+"\s*+:\s*+){0,3}+\[\s*+(?=\{)"""
"""The beginning of a JSON list of objects. The list may be in up to three objects, after members without lists."""
_RECORDS = re.compile(rb"(?:\xef\xbb\xbf)?+" + RECORDS.encode(), re.X)
JSON = FileFormat("json", "plain", ("JSON",), ("json", "geojson", "topojson", "jsonc", "json5", "har", "webmanifest"))
JSON_LIST = FileFormat("json_list", "plain", ("JSON lists",), parser="rows.json_list")
XML = FileFormat(
    "xml",
    "plain",
    ("XML",),
    ("xml", "rss", "atom", "opml", "kml", "gpx", "xsd", "xsl", "xslt", "wsdl", "plist", "resx", "xliff", "xlf", "fb2"),
)
ARCHIVE = FileFormat("archive", "binary", ("Office or ZIP",))
"""Office files, books and ZIP archives have the same first bytes. Only their entries distinguish them."""
OLD_OFFICE = FileFormat("old_office", "binary", ("DOC, PPT or MSG",))
"""Office files before 2007 have the same first bytes. Only their streams distinguish them."""
PACKED = FileFormat(
    "packed", "binary", ("ZIP", "TAR"), ("zip", "tar", "tgz", "tbz2", "txz", "gz", "bz2", "xz"), "archive_members"
)
PICTURE = FileFormat(
    "picture",
    "binary",
    ("PNG", "JPEG", "TIFF"),
    ("png", "jpg", "jpeg", "tif", "tiff"),
    parser="pages.pictures",
    needs_ocr=True,
    signature=re.compile(rb"\x89PNG|\xff\xd8\xff|II\*\x00|MM\x00\*"),
)
FORMATS = (
    TEXT,
    MARKDOWN,
    JSON,
    XML,
    FileFormat("html", "encoded", ("HTML",), ("html", "htm", "xhtml"), "html.html_text", signature=_HTML),
    FileFormat("pdf", "binary", ("PDF",), ("pdf",), "pages.pdf", signature=_PDF),
    FileFormat(
        "word",
        "binary",
        ("DOCX", "DOC"),
        ("docx", "docm", "dotx", "doc", "dot"),
        "office.word_and_slides",
        entries=frozenset({"word/document.xml"}),
    ),
    FileFormat(
        "slides",
        "binary",
        ("PPTX", "PPT"),
        ("pptx", "pptm", "ppsx", "ppt", "pps"),
        "office.word_and_slides",
        entries=frozenset({"ppt/presentation.xml"}),
    ),
    FileFormat(
        "opendocument",
        "binary",
        ("ODT", "ODP"),
        ("odt", "ott", "odp", "otp"),
        "office.word_and_slides",
        mimetypes=frozenset(
            f"{_OPENDOCUMENT}{kind}".encode()
            for kind in ("text", "text-template", "presentation", "presentation-template")
        ),
    ),
    FileFormat("rtf", "encoded", ("RTF",), ("rtf",), "office.rtf", signature=re.compile(rb"\{\\rtf")),
    FileFormat(
        "sheets",
        "binary",
        ("XLSX", "XLSB", "XLS", "ODS"),
        ("xlsx", "xlsm", "xlsb", "xls", "ods"),
        "rows.sheets",
        entries=frozenset({"xl/workbook.xml", "xl/workbook.bin"}),
        mimetypes=frozenset({f"{_OPENDOCUMENT}spreadsheet".encode()}),
    ),
    FileFormat("csv", "plain", ("CSV", "TSV"), ("csv", "tsv"), "rows.csv_rows"),
    FileFormat("json_lines", "plain", ("JSON lines",), ("jsonl", "ndjson"), "rows.json_lines"),
    JSON_LIST,
    FileFormat("notebook", "plain", ("Jupyter notebooks",), ("ipynb",), "notebook"),
    FileFormat("book", "binary", ("EPUB",), ("epub",), "html.epub", mimetypes=frozenset({b"application/epub+zip"})),
    FileFormat("email", "encoded", ("EML",), ("eml",), "mail.mail", signature=_MESSAGE),
    FileFormat(
        "mhtml", "encoded", ("MHTML",), ("mhtml", "mht"), "mail.mhtml", signature=re.compile(rb"From: <Saved by ")
    ),
    FileFormat("mbox", "encoded", ("MBOX",), ("mbox",), "mail.mail", signature=_MBOX),
    FileFormat("transcript", "plain", ("VTT", "SRT"), ("vtt", "srt"), "transcript"),
    PICTURE,
    PACKED,
    FileFormat("code", "plain", ("source code",), tuple(_CODE.split())),
)
"""All formats, in the order in which messages list them."""
BY_NAME = {format.name: format for format in (*FORMATS, ARCHIVE, OLD_OFFICE)}
_BY_SUFFIX = {suffix: format for format in FORMATS for suffix in format.suffixes}
_LISTED = [name for format in FORMATS for name in format.listed]
SUPPORTED = f"{', '.join(_LISTED[:-1])} and {_LISTED[-1]}"
HEAD = 4_096
"""Bytes at the beginning of a file that show its format."""
_DOCUMENT_ENTRIES = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"word/", b"xl/", b"ppt/", b"mimetype")
"""Beginnings of the name of the first entry in the archive of an Office file or a book."""
_ENTRY_NAME = 30
"""Offset of the name of the first entry in a ZIP archive."""
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_UNSUPPORTED = (b"GIF8", b"RIFF", b"7z\xbc\xaf", b"Rar!", b"\x7fELF", b"MZ\x90", b"SQLite format 3\x00", b"%!PS")


def sniff(raw: bytes, name: str) -> FileFormat:
    """The format of a file with this content and name.

    Raises UnreadableFile (`unsupported_format`, `damaged`).
    """
    head = raw[:HEAD]
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ARCHIVE
    if _PACKED.match(head):  # before PDF, which an archive may have near its beginning
        return PACKED
    if (signed := _sign(head, "binary")) is not None:
        return signed
    if head.startswith(_COMPOUND):
        return OLD_OFFICE
    if head.startswith(_UNSUPPORTED):
        raise unsupported()
    if (signed := _sign(head, "encoded")) is not None:
        return signed
    if _OFFICE_AS_XML.match(head):
        message = "An Office document in one file of XML is not read: save it as DOCX, XLSX, PPTX, ODT, ODS or ODP."
        raise UnreadableFile("unsupported_format", message)
    return _by_name(head, name)


def _by_name(head: bytes, name: str) -> FileFormat:
    """The format of a file by its name, or PDF behind other bytes, unless the name is one of texts."""
    named = by_suffix(name)
    header = _LATE_PDF if named.content == "binary" else _PDF_IN_LINES
    if header.match(head) and (named.content == "binary" or not has_suffix(name)):
        return BY_NAME["pdf"]
    if named == JSON and _RECORDS.match(head):
        return JSON_LIST
    if named.content != "binary":
        return named
    if b"\x00" in head:
        raise UnreadableFile("damaged", f"The file is named .{suffix(name)} but is no such file: transfer it again.")
    return TEXT


def is_document_archive(head: bytes) -> bool:
    """Whether a ZIP archive with these first bytes is a document."""
    return head[_ENTRY_NAME:].startswith(_DOCUMENT_ENTRIES)


def has_suffix(name: str) -> bool:
    """Whether a name has the suffix of a format."""
    return suffix(name) in _BY_SUFFIX


def by_suffix(name: str) -> FileFormat:
    """The format of the suffix of a name; text if the suffix is unknown."""
    return _BY_SUFFIX.get(suffix(name), TEXT)


def _sign(head: bytes, content: Content) -> FileFormat | None:
    found = (one for one in FORMATS if one.content == content and one.signature and one.signature.match(head))
    return next(found, None)


def suffix(name: str) -> str:
    """The suffix of a file name in lower case, without the dot; empty if there is none."""
    stem, point, last = name.rpartition(".")
    return last.lower() if point and stem else ""


def is_code(name: str) -> bool:
    """Whether a file with this name is source code."""
    return by_suffix(name).name == "code"


def unsupported() -> UnreadableFile:
    """The error for a file of another format."""
    return UnreadableFile("unsupported_format", f"The file has a format that cannot be read: send {SUPPORTED}.")
