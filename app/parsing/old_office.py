"""Recognises the files in the compound format of Office before 2007: only its spreadsheets are read."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from app.errors import UnreadableFile, UnreadableReason
from app.parsing import formats
from app.parsing.files import InputFile
from app.parsing.formats import FileFormat

MAX_SECTORS = 10_000
"""Sectors of the directory; 10,000 of the usual size hold 40,000 streams."""
_END = 0xFFFFFFFA
"""Numbers of sectors from this on are marks, such as that of the end of a chain."""
_ENTRY, _HEADER_SECTORS = 128, 109
_REMEDIES: dict[str, tuple[UnreadableReason, str]] = {
    "EncryptedPackage": ("encrypted", "The file is protected by a password: save it without one."),
    "WordDocument": ("unsupported_format", "A DOC file of Word before 2007 cannot be read: save it as DOCX."),
    "PowerPoint Document": (
        "unsupported_format",
        "A PPT file of PowerPoint before 2007 cannot be read: save it as PPTX.",
    ),
    "__properties_version1.0": ("unsupported_format", "A MSG file of Outlook cannot be read: save it as EML."),
}
_SHEETS = frozenset({"Workbook", "Book"})


def check(file: InputFile) -> FileFormat:
    """The format of a spreadsheet. Raises UnreadableFile for other files, and says how their text can be read."""
    try:
        names = set(_top_level(file.raw))
    except (struct.error, IndexError, ValueError) as error:
        raise UnreadableFile("damaged", "The file is damaged or incomplete: transfer it again.") from error
    for name, (code, message) in _REMEDIES.items():
        if name in names:
            raise UnreadableFile(code, message)
    if names & _SHEETS:
        return formats.BY_NAME["sheets"]
    raise formats.unsupported()


def _top_level(raw: bytes) -> Iterator[str]:
    """The names of the streams that are not within another object of the file, such as an embedded document."""
    entries = _directory(raw)
    waiting = [_child(entries, 0, 76)]
    seen: set[int] = set()
    while waiting:
        place = waiting.pop()
        if place >= _END or place in seen:
            continue
        seen.add(place)
        length = struct.unpack_from("<H", entries, place * _ENTRY + 64)[0]
        yield entries[place * _ENTRY : place * _ENTRY + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        waiting += [_child(entries, place, 68), _child(entries, place, 72)]


def _child(entries: bytes, place: int, offset: int) -> int:
    number: int = struct.unpack_from("<I", entries, place * _ENTRY + offset)[0]
    return number


def _directory(raw: bytes) -> bytes:
    """The sectors of the directory, joined in the order of their chain."""
    shift, sector = struct.unpack_from("<H", raw, 30)[0], struct.unpack_from("<I", raw, 48)[0]
    if shift not in (9, 12):
        raise ValueError("no such size of a sector")
    size = 1 << shift
    table = _table(raw, shift)
    found = bytearray()
    for _ in range(MAX_SECTORS):
        if sector >= _END:
            return bytes(found)
        found += raw[(sector + 1) << shift : (sector + 2) << shift]
        links, link = divmod(sector, size // 4)
        sector = struct.unpack_from("<I", raw, ((table[links] + 1) << shift) + 4 * link)[0]
    raise ValueError("the directory is too large, or its chain has no end")


def _table(raw: bytes, shift: int) -> list[int]:
    """The sectors that hold the table of chains: the first are listed in the header, the others in a chain."""
    size = 1 << shift
    found = list(struct.unpack_from(f"<{_HEADER_SECTORS}I", raw, 76))
    following = struct.unpack_from("<I", raw, 68)[0]
    while following < _END and len(found) <= len(raw) // size:
        *listed, following = struct.unpack_from(f"<{size // 4}I", raw, (following + 1) << shift)
        found += listed
    return found
