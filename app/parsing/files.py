"""Defines the file that a parser reads, and the files that are in an archive."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST_MEMBER = 64_000_000
"""Bytes of the largest file of an archive that is read."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """The content of a file, its name, and the field of its records that holds their text (None: chosen by name)."""

    raw: bytes
    name: str = ""
    text_field: str | None = None


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file of an archive: its path there and its content, or the reason for which it is not unpacked."""

    path: str
    raw: bytes = b""
    refused: str = ""
    is_too_large: bool = False
