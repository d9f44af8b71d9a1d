"""Estimates how many chunks files become: first from their sizes, then also from the chunks of those already read."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.documents.commands.ingest_report import FormatCount, ListedFile
from app.documents.files.file_reading import PICTURE

CHUNK_BYTES = 600
"""Bytes of text per chunk."""
TEXT_SHARES = {"pdf": 0.05, "html": 0.4, "notebook": 0.1}
"""Estimated share of text in the bytes of a file; 1 for other formats."""
MARKUP_SHARE = 0.1
"""Estimated share of text in the XML of Office files and books."""
OLD_OFFICE_SHARE = 0.05
"""Estimated share of text in Office files that are no archives."""
PICTURE_CHUNKS = 3.0
ROWS = frozenset({"csv", "json_lines"})
"""Formats of which each line is a document."""
OFFICE = frozenset({"word", "slides", "opendocument", "book"})
ARCHIVES = OFFICE | {"sheets", "packed"}
SHEET_SAMPLE = 64_000
"""Bytes of a sheet in which rows are counted."""
PRIOR_CHUNKS = 30.0
"""How many chunks of a format count as much as the estimate from its sizes."""
_TEXT_PARTS = ("word/document.xml", "ppt/slides/slide", "content.xml")
_SHEETS = ("xl/worksheets/sheet", "content.xml")
_PAGES = (".html", ".xhtml", ".htm")
_ROW_END = re.compile(rb"</(?:table:table-)?row>")
_VALUE = re.compile(rb"</(?:v|t|text:p)>")
_UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


def chunks_of(path: Path, size: int, format: str, head: bytes) -> float:
    """The estimated chunks of a file with these first bytes, at least 1. Reads little of it."""
    if format == PICTURE:
        return PICTURE_CHUNKS
    text = size * TEXT_SHARES.get(format, 1.0)
    if format in OFFICE or format == "sheets":
        text = size * OLD_OFFICE_SHARE
    rows = size * head.count(b"\n") / len(head) if format in ROWS and head else 0.0
    try:
        if head.startswith(b"PK") and format in ARCHIVES:
            text, rows = _in_archive(path, format)
        elif head.startswith(b"\x1f\x8b"):
            text = _unpacked_size(path)
    except _UNREADABLE:
        return 1.0
    return max(1.0, rows, text / CHUNK_BYTES)


def _in_archive(path: Path, format: str) -> tuple[float, float]:
    """The estimated bytes of text, and rows of tables, of a file that is a ZIP archive."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if format == "sheets":
            return 0.0, sum(_rows(archive, entry) for entry in entries if entry.filename.startswith(_SHEETS))
    if format in OFFICE:
        texts = (one for one in entries if one.filename.startswith(_TEXT_PARTS) or one.filename.endswith(_PAGES))
        return MARKUP_SHARE * sum(entry.file_size for entry in texts), 0.0
    return sum(entry.file_size for entry in entries), 0.0


def _rows(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> float:
    """The rows of a sheet that hold something, counted in its beginning."""
    with archive.open(entry) as opened:
        sample = opened.read(SHEET_SAMPLE)
    rows = sum(_VALUE.search(row) is not None for row in _ROW_END.split(sample))
    return entry.file_size * rows / max(1, len(sample))


def _unpacked_size(path: Path) -> float:
    """The size of what a gzip file holds, as its last four bytes say (RFC 1952)."""
    with path.open("rb") as opened:
        opened.seek(-4, 2)
        return float(int.from_bytes(opened.read(), "little"))


class Estimate:
    """The chunks of all files, corrected for each format by the chunks of its files that have been read."""

    def __init__(self, files: Sequence[ListedFile]) -> None:
        self._expected: dict[str, float] = defaultdict(float)
        self._left: dict[str, float] = defaultdict(float)
        for file in files:
            self._left[file.format] += file.chunks

    def add(self, files: Sequence[ListedFile]) -> None:
        """Notes that files have been read."""
        for file in files:
            self._expected[file.format] += file.chunks
            self._left[file.format] -= file.chunks

    def left(self, counted: Mapping[str, FormatCount]) -> float:
        """The chunks of the files that have not been read; `counted` are those of the others, by format."""
        return sum(
            left * (counted[name].chunks + PRIOR_CHUNKS) / (self._expected[name] + PRIOR_CHUNKS)
            for name, left in self._left.items()
        )
