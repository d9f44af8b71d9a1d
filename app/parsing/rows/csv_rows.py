"""Reads CSV and TSV: each row below the names of the columns is a document."""

from __future__ import annotations

import csv
import io
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from app.parsing import formats, types
from app.parsing.rows import header_rows
from app.parsing.rows.header_rows import Table
from app.parsing.rows.records import RecordReader
from app.parsing.types import ExtractedDocument, InputFile, LeftOut

DELIMITERS = ",;\t|"
SAMPLE = 20_000
"""Number of characters that determine the delimiter: the one that gives the most regular rows."""
MOST_UNCLOSED = 100
"""After this many unclosed quotes, quotes have no meaning in a file."""
_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n')
"""A first line that tells Excel the delimiter."""


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The rows. Raises UnreadableFile for a file without rows below the names of the columns."""
    rows = _Rows(file.raw.decode(), file.name)
    table = header_rows.find(enumerate(rows.read(), 1))
    reader = RecordReader(file.text_field)
    left_out: list[LeftOut] = []
    records = _records(table, reader.chosen_by_name(table.names), left_out)
    found = itertools.chain(table.introduction("row=1", {}), reader.documents(records, shared=table.shared))
    nothing = "The table has no rows below the names of its columns."
    yield from types.annotate(found, nothing, left_out=left_out, warnings=rows.warnings)


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The cells of the rows, without the names of the columns: each document repeats those."""
    table = header_rows.find(enumerate(_Rows(raw.decode(), "").read(), 1))
    yield "the lines above the table", table.above
    yield "the table", "\n".join(itertools.chain.from_iterable(cells for _, cells in table.rows))


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The delimiter, the quote and the escape character of a table."""

    delimiter: str
    quote: str = '"'
    escape: str | None = None


@lru_cache(maxsize=1)
def _detect(sample: str) -> _Dialect:
    """The dialect that gives the most regular rows. For a table of one column it has any delimiter."""
    import clevercsv  # takes a fifth of a second

    try:
        found = clevercsv.detect.Detector().detect(sample, delimiters=list(DELIMITERS))
    except clevercsv.Error:
        found = None
    if found is None:
        return _Dialect(max(DELIMITERS, key=sample.partition("\n")[0].count))
    return _Dialect(found.delimiter or ",", found.quotechar or '"', found.escapechar or None)


class _Rows:
    """Reads the rows of a table. `warnings` is complete after the last one."""

    def __init__(self, text: str, name: str) -> None:
        separator = _SEPARATOR.match(text)
        self._first = 2 if separator else 1
        self._text = text[separator.end() :] if separator else text
        self._dialect = _Dialect(separator[1]) if separator else self._find_dialect(name)
        self._unclosed: list[int] = []
        self.warnings: list[str] = []

    def _find_dialect(self, name: str) -> _Dialect:
        if formats.suffix(name) == "tsv" and "\t" in self._text:
            return _Dialect("\t")
        sample = self._text[:SAMPLE]
        return _detect(sample[: sample.rfind("\n") + 1] or sample)

    def read(self) -> Iterator[list[str]]:
        """The rows. A row whose quotes are wrong ends with its line."""
        csv.field_size_limit(sys.maxsize)
        lines = list(io.StringIO(self._text, newline=""))
        start = 0
        while start < len(lines):
            rows, read = self._reader(map(lines.__getitem__, range(start, len(lines)))), 0
            try:
                for row in rows:
                    read = rows.line_num
                    yield row
                break
            except csv.Error:
                start += read
                yield from self._wrong(lines, start, is_long=rows.line_num > read + 1)
                start = len(lines) if len(self._unclosed) >= MOST_UNCLOSED else start + 1
        if self._unclosed:
            examples = ", ".join(f"{line:,}" for line in self._unclosed[:5])
            self.warnings.append(f"Quotes that are not closed were read as text, in lines such as {examples}.")

    def _wrong(self, lines: Sequence[str], start: int, *, is_long: bool) -> Iterator[list[str]]:
        """The line that begins a row with wrong quotes. After too many such rows, all following lines."""
        if not is_long and lines[start].count(self._dialect.quote) % 2 == 0:
            yield from self._reader(iter([lines[start]]), strict=False)
            return
        self._unclosed.append(start + self._first)
        end = None if len(self._unclosed) >= MOST_UNCLOSED else start + 1
        yield from self._reader(iter(lines[start:end]), quoting=csv.QUOTE_NONE)

    def _reader(self, lines: Iterator[str], *, strict: bool = True, quoting: Literal[0, 3] = csv.QUOTE_MINIMAL) -> Any:
        return csv.reader(
            lines,
            delimiter=self._dialect.delimiter,
            quotechar=self._dialect.quote,
            escapechar=self._dialect.escape,
            quoting=quoting,
            skipinitialspace=True,
            strict=strict,
        )


def _records(table: Table, needed: Sequence[str], left_out: list[LeftOut]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The rows by column. A row that is too short gets blank values only for the columns in `needed`.

    Columns that are blank in all rows are added to `left_out`.
    """
    names = table.names
    for number, row in table.read(left_out):
        if len(row) > len(names):
            names = header_rows.columns([*table.heads, *[""] * (len(row) - len(table.heads))])
        record = dict(zip(names, row, strict=False))
        yield f"row={number}", record | {name: "" for name in needed if name not in record}
