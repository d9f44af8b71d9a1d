"""Reads JSON lines: each line is an object and a document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from app.errors import UnreadableFile
from app.parsing import types
from app.parsing.rows.records import RecordReader
from app.parsing.types import ExtractedDocument, InputFile


class Number(float):
    """A number of JSON that keeps its form in text, such as 1.10."""

    written: str

    def __new__(cls, written: str) -> Number:
        number = super().__new__(cls, written)
        number.written = written
        return number

    def __repr__(self) -> str:
        return self.written

    __str__ = __repr__


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The lines. Raises UnreadableFile, which names the first line that is not a JSON object."""
    found = RecordReader(file.text_field).documents(_records(file.raw.decode()), shared={})
    return types.annotate(found, "No line of the file contains text or a title.")


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The values of the lines."""
    for number, line in enumerate(raw.decode().split("\n"), 1):
        yield f"line {number}", "\n".join(scalars(json.loads(line, parse_float=str))) if line.strip() else ""


def scalars(value: Any) -> Iterator[str]:
    """The texts, numbers and booleans in a value, as text."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from scalars(inner)
    elif value is not None:
        yield str(value)


def _records(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line, parse_float=Number)
            except (ValueError, RecursionError) as error:
                raise UnreadableFile("damaged", f"Line {number} is not valid JSON.") from error
            if not isinstance(value, dict):
                raise UnreadableFile("damaged", f"Line {number} is not a JSON object.")
            yield f"line={number}", value
