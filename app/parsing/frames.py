"""Defines the messages between the service and the process that parses files.

The content of a file of an archive follows its message, and so do the pixels of a picture to recognise, which the
service answers with the lines on it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from app.parsing.files import ExtractedDocument

PICTURE_CPU_S = 2
"""Seconds that reading a file may take in addition for each picture of it that is recognised."""


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """A file to parse: its sniffed format, its name and the field of a record that holds its text.

    The file's `size` bytes follow the message. Limits are those of one file: seconds of CPU time, and bytes of memory.
    `recognises`: the service recognises pictures that the process sends.
    """

    format: str
    name: str
    size: int
    text_field: str | None
    cpu_s: int
    memory_bytes: int
    recognises: bool = False


def from_document(document: ExtractedDocument) -> dict[str, Any]:
    """A document as a message, without what its parser left out, of which its warnings speak."""
    fields = asdict(document)
    del fields["left_out"]
    fields["created_at"] = document.created_at.isoformat() if document.created_at else None
    return {"document": fields}


def to_document(fields: dict[str, Any]) -> ExtractedDocument:
    """The document of a message. Raises TypeError, ValueError, KeyError."""
    created_at = fields["created_at"]
    fields |= {"page_starts": tuple(map(int, fields["page_starts"])), "warnings": tuple(map(str, fields["warnings"]))}
    fields["created_at"] = datetime.fromisoformat(created_at) if created_at is not None else None
    return ExtractedDocument(**fields)
