"""Defines the file that a parser reads, and the files that are in an archive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.shapes.kinds import LeftOutReason
from app.shapes.recognition import Picture, RecognisedLine

LARGEST_MEMBER = 64_000_000
"""Bytes of the largest file of an archive that is read."""


Recognise = Callable[[Picture], Sequence[RecognisedLine]]
"""Asks the service for the lines of text on a picture. Raises UnreadableFile if it cannot be recognised."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """The content of a file, its name, and the field of its records that holds their text (None: chosen by name).

    Without `recognise`, text in pictures is not read.
    """

    raw: bytes
    name: str = ""
    text_field: str | None = None
    recognise: Recognise | None = None


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file of an archive: its path there and its content, or why it is not unpacked.

    `left_out` is the reason if it is left out on purpose. The path of a folder ends with a slash.
    """

    path: str
    raw: bytes = b""
    refused: str = ""
    left_out: LeftOutReason | None = None
