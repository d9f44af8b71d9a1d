"""Defines what parsers read and return, and the messages about it between the service and the process that parses.

The content of a file of an archive follows its message. The pixels of a picture to recognise follow their message too;
the service answers with the lines on the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

from app.enums import Json, LeftOutReason
from app.errors import UnreadableFile

LARGEST_MEMBER = 64_000_000
"""Bytes of the largest file of an archive that is read."""
MAX_ID = 200
"""Most characters of the id of a document in a file."""
DELETED = "deleted text of tracked changes"
MAX_PEOPLE = 300
"""Most people of a header or conversation in the metadata, which may have 64 KB."""
MAX_PIXELS = 16_000_000
"""Pixels of the largest picture that is recognised. Larger pictures are scaled down first."""
PICTURE_CPU_S = 2
"""Additional seconds for reading a file, for each recognised picture."""
Corners = tuple[float, float, float, float, float, float, float, float]
"""x and y of the upper left, upper right, lower right and lower left corner, in pixels from the upper left."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in grey levels: a byte for each pixel, row by row from the top."""

    width: int
    height: int
    pixels: bytes


@dataclass(frozen=True, slots=True)
class RecognisedLine:
    """A line of text, the probability that it is right, and its place."""

    text: str
    score: float
    corners: Corners


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

    If it is left out on purpose, `left_out` is the reason. The path of a folder ends with a slash.
    """

    path: str
    raw: bytes = b""
    refused: str = ""
    left_out: LeftOutReason | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Text that is left out of a document on purpose.

    `reason` completes "Left out as …", such as `lines repeated as headers`. `where` is a place, such as `pages 1–3`.
    `text` is empty for a picture and other things without text.
    """

    reason: str
    text: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class ExtractedDocument:
    """A document that a parser read from a file: its text as Markdown, not cleaned yet.

    If the file has pages, `page_starts` has their offsets. `fragment`, such as `row=5`, identifies the document in a
    file with several. `left_out` has what the parser left out on purpose. `table_config` is the text-search
    configuration of the table of which the document is a row, empty if its first rows say too little; None if the text
    tells its own language.
    """

    text: str
    title: str = ""
    metadata: Json = field(default_factory=dict)
    language: str | None = None
    created_at: datetime | None = None
    page_starts: tuple[int, ...] = ()
    fragment: str = ""
    markdown: bool = True
    warnings: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    table_config: str | None = None


def identify(place: str, id: str, seen: set[str], *, safe: str = "") -> str:
    """The fragment of a document: its id, if it has one that is not in `seen`, or else its place, such as `row=5`."""
    _number, mark, sheet = place.partition("&")
    by_id = f"id={quote(id, safe=safe, errors='replace')}{mark}{sheet}"
    fragment = by_id if id and len(id) <= MAX_ID and by_id not in seen else place
    seen.add(fragment)
    return fragment


def annotate(
    documents: Iterable[ExtractedDocument],
    nothing: str,
    *,
    left_out: Sequence[LeftOut] = (),
    warnings: Sequence[str] = (),
) -> Iterator[ExtractedDocument]:
    """Adds to the last document of a file what is left out of the file, and the warnings about it.

    Raises UnreadableFile with the message `nothing` if there are no documents.
    """
    last: ExtractedDocument | None = None
    for document in documents:
        if last is not None:
            yield last
        last = document
    if last is None:
        raise UnreadableFile("no_text", nothing)
    yield replace(last, left_out=(*last.left_out, *left_out), warnings=(*last.warnings, *warnings))


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """A file to parse: its sniffed format, its name and the field of a record that holds its text.

    The file's `size` bytes follow the message. The limits are for one file: seconds of CPU time, and bytes of memory.
    `recognises` is set if the service recognises pictures that the process sends.
    """

    format: str
    name: str
    size: int
    text_field: str | None
    cpu_s: int
    memory_bytes: int
    recognises: bool = False


def from_document(document: ExtractedDocument) -> dict[str, Any]:
    """A document as a message. It omits `left_out`, because the warnings mention it."""
    # Not by `asdict`, which copies nested metadata and ends with a RecursionError for metadata that JSON can nest.
    values = {one.name: getattr(document, one.name) for one in fields(document) if one.name != "left_out"}
    values["created_at"] = document.created_at.isoformat() if document.created_at else None
    return {"document": values}


def to_document(values: dict[str, Any]) -> ExtractedDocument:
    """The document of a message. Raises TypeError, ValueError, KeyError."""
    created_at = values["created_at"]
    values |= {"page_starts": tuple(map(int, values["page_starts"])), "warnings": tuple(map(str, values["warnings"]))}
    values["created_at"] = datetime.fromisoformat(created_at) if created_at is not None else None
    return ExtractedDocument(**values)
