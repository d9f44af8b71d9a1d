"""Reads CSV and TSV: each row below the first is a document."""

from __future__ import annotations

import csv
import io
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence

from app.errors import UnreadableFile
from app.parsing.files import ExtractedDocument, InputFile
from app.parsing.records import RecordReader

DELIMITERS = ",;\t|"


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The rows. Raises UnreadableFile for a file without rows below the first, which names the columns."""
    csv.field_size_limit(sys.maxsize)
    text = file.raw.decode()
    first = text.partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(DELIMITERS, key=first.count))
    header = columns(next(rows, []))
    reader = RecordReader(file.text_field)
    found = False
    for document in reader.documents(_records(rows, header, reader.chosen_by_name(header)), shared={}):
        found = True
        yield document
    if not found:
        raise UnreadableFile("no_text", "The table has no rows below the names of its columns.")


def columns(names: Sequence[str]) -> list[str]:
    """The names of columns: blank and repeated ones get their number."""
    found: list[str] = []
    taken: set[str] = set()
    for number, name in enumerate(names, 1):
        stripped = name.strip()
        found.append(stripped if stripped and stripped not in taken else f"{stripped} {number}".strip())
        taken.add(found[-1])
    return found


def _records(
    rows: Iterator[list[str]], header: Sequence[str], needed: Sequence[str]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The rows by column; one that is shorter than the header has blank values for the columns `needed` only."""
    for number, row in enumerate(rows, 2):
        names = itertools.chain(header, map(str, itertools.count(len(header) + 1)))
        record = dict(zip(names, row, strict=False))
        yield f"row={number}", record | {name: "" for name in needed if name not in record}
