"""Recognises the files in the compound format of Office before 2007."""

from __future__ import annotations

import anydoc

from app.errors import UnreadableFile, UnreadableReason
from app.parsing import formats
from app.parsing.files import InputFile
from app.parsing.formats import FileFormat

_FORMATS = {"doc": "word", "ppt": "slides", "xlsx": "sheets"}
"""The library has one name for all spreadsheets of Excel."""
_REMEDIES: dict[str, tuple[UnreadableReason, str]] = {
    "EncryptedPackage": ("encrypted", "The file is protected by a password: save it without one."),
    "__properties_version1.0": ("unsupported_format", "A MSG file of Outlook cannot be read: save it as EML."),
}
"""What to do with a file that has a stream of this name."""


def check(file: InputFile) -> FileFormat:
    """The format of a file. Raises UnreadableFile for one that cannot be read, and says how its text can be."""
    found = anydoc.format_from_bytes(file.raw)
    if found in _FORMATS:
        return formats.BY_NAME[_FORMATS[found]]
    for name, (code, message) in _REMEDIES.items():
        if name.encode("utf-16-le") in file.raw:
            raise UnreadableFile(code, message)
    raise UnreadableFile("damaged", f"The file is damaged, or no document. {formats.unsupported().message}")
