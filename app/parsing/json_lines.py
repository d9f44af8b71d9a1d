"""Reads JSON lines: each line is an object and a document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from app.errors import UnreadableFile
from app.parsing.files import ExtractedDocument, InputFile
from app.parsing.records import RecordReader


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The lines. Raises UnreadableFile naming the first line that is no JSON object."""
    found = False
    for document in RecordReader(file.text_field).documents(_records(file.raw.decode()), shared={}):
        found = True
        yield document
    if not found:
        raise UnreadableFile("no_text", "No line of the file contains text or a title.")


def _records(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"line={number}", _object(line, number)


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile("damaged", f"Line {number} is not valid JSON.") from error
    if not isinstance(value, dict):
        raise UnreadableFile("damaged", f"Line {number} is not a JSON object.")
    return value
