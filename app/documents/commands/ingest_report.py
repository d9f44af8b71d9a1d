"""Estimates what an ingest stores, and counts and prints what it has stored, refused and left out.

The number of chunks is first estimated from the sizes of files, then also from the chunks of the files already read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from rich.markup import escape

from app.cli import terminal
from app.documents.files.left_out_rules import LeftOutCounts
from app.enums import LeftOutReason
from app.parsing import formats


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file to read: its path, its size in bytes, and the name of the format that its first bytes show.

    `chunks` is an estimate. `is_found` is set if it was found in a folder, not if the command names it.
    """

    path: Path
    size: int
    format: str
    chunks: float = 1.0
    is_found: bool = False


@dataclass(frozen=True, slots=True)
class Files:
    """Files to read, the field that holds the text of their records (None: chosen by name), and pages to fetch."""

    listed: Sequence[ListedFile]
    text_field: str | None = None
    addresses: Sequence[str] = ()

    @property
    def chunks(self) -> int:
        """The estimated number of chunks of all files."""
        return round(sum(file.chunks for file in self.listed))


@dataclass(slots=True)
class FormatCount:
    """The counts of the files of one format, and of what was stored from them."""

    files: int = 0
    bytes: int = 0
    documents: int = 0
    chunks: int = 0
    failed: int = 0


@dataclass(slots=True)
class Summary:
    """Counts documents by status and format, counts left-out files by reason, and lists warnings and failures.

    `read` is the number of files that the service has finished.
    """

    counts: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    read: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    left_out: LeftOutCounts = field(default_factory=LeftOutCounts)
    formats: dict[str, FormatCount] = field(default_factory=dict)
    seconds: float = 0.0
    _format_of: dict[str, str] = field(default_factory=dict)
    _warned: set[tuple[str, str]] = field(default_factory=set)

    def note(self, files: Iterable[ListedFile]) -> None:
        """Counts files that are to be read."""
        for file in files:
            self._format_of[str(file.path.resolve())] = file.format
            count = self.formats.setdefault(file.format, FormatCount())
            count.files += 1
            count.bytes += file.size

    def store(self, path: str, status: str, chunks: int, warnings: Iterable[str] = ()) -> None:
        """Counts a document of a file that has been stored or found unchanged."""
        self.counts[status] += 1
        for warning in warnings:  # each once, even if several documents of the file have it
            if (path, warning) not in self._warned:
                self._warned.add((path, warning))
                self.warnings.append((path, warning))
        self.chunks += chunks
        if (count := self._count_of(path)) is not None:
            count.documents += 1
            count.chunks += chunks

    def refuse(self, path: str, reason: str) -> None:
        """Records a document that cannot be stored. Several such documents of a file count as one failure."""
        self.refused[path] += 1
        if self.refused[path] == 1:
            self.fail(path, reason)

    def fail(self, path: Path | str, reason: str) -> None:
        """Records a file, folder or page that is not stored."""
        self.failures.append((str(path), reason))
        if (count := self._count_of(str(path))) is not None:
            count.failed += 1

    def unreadable(self, path: Path, error: OSError) -> None:
        """Records a file or folder that the operating system does not let read."""
        self.fail(path, str(error.strerror))

    def sort(self) -> None:
        """Puts warnings and failures in the order of their paths."""
        self.warnings.sort(key=itemgetter(0))
        self.failures.sort(key=itemgetter(0))

    def reason(self, path: str, reason: str) -> str:
        """The reason; if several documents of the file were refused, their number is added."""
        return reason if self.refused[path] < 2 else f"{reason} ({self.refused[path]} documents of the file)"

    def as_json(self) -> dict[str, object]:
        """The summary as printed by --json."""
        statuses = {name: self.counts[name] for name in ("added", "replaced", "unchanged")}
        failed = [{"path": path, "reason": self.reason(path, reason)} for path, reason in self.failures]
        counted = {"failed": len(failed), "chunks": self.chunks, "left_out": self.left_out.as_json()}
        warned = [{"path": path, "warning": warning} for path, warning in self.warnings]
        return {**statuses, **counted, "failures": failed, "warnings": warned}

    def _count_of(self, path: str) -> FormatCount | None:
        if (name := self._format_of.get(path)) is None:
            resolved = Path(path).resolve()
            places = map(str, (resolved, *resolved.parents))  # a file of an archive is counted with the archive
            name = next((self._format_of[place] for place in places if place in self._format_of), None)
        return None if name is None else self.formats[name]


CHUNK_BYTES = 600
"""Bytes of text per chunk."""
CHUNK_BYTES_OF: Mapping[str, int] = {
    "pdf": 12_000,
    "html": 1_500,
    "notebook": 6_000,
    "word": 2_000,
    "slides": 12_000,
    "opendocument": 2_000,
    "old_office": 12_000,
    "book": 1_200,
    "sheets": 40,
    "packed": 200,
}
"""Estimated bytes of a file per chunk, in formats that are packed or have more than text; a row of a sheet is one."""
PICTURE_CHUNKS = 3.0
ROWS = frozenset({"csv", "json_lines"})
"""Formats in which each line is a document."""
_QUOTED = re.compile(rb'"[^"]*+(?:"|\Z)')
"""Text in quotes. Its line breaks do not end a row."""
PRIOR_CHUNKS = 30.0
"""How many chunks of a format count as much as the estimate from its sizes."""


def estimate_chunks(size: int, format: str, head: bytes) -> float:
    """The estimated chunks of a file of this size with these first bytes, at least 1."""
    if format == formats.PICTURE.name:
        return PICTURE_CHUNKS
    lines = (_QUOTED.sub(b"", head) if format == "csv" else head).count(b"\n")
    rows = size * lines / len(head) if format in ROWS and head else 0.0
    return max(1.0, rows, size / CHUNK_BYTES_OF.get(format, CHUNK_BYTES))


class Estimate:
    """Estimates the chunks of all files. The files already read correct the estimate for their format."""

    def __init__(self, files: Sequence[ListedFile]) -> None:
        self._expected: dict[str, float] = defaultdict(float)
        self._left: dict[str, float] = defaultdict(float)
        for file in files:
            self._left[file.format] += file.chunks

    def add(self, files: Sequence[ListedFile]) -> None:
        """Notes that files have been read."""
        for file in files:
            self._expected[file.format] += file.chunks
            self._left[file.format] -= file.chunks

    def left(self, counted: Mapping[str, FormatCount]) -> float:
        """The estimated chunks of the files not yet read; `counted` are the counts of the files read, by format."""
        return sum(
            left * (counted[name].chunks + PRIOR_CHUNKS) / (self._expected[name] + PRIOR_CHUNKS)
            for name, left in self._left.items()
        )


LABELS: Mapping[LeftOutReason, str] = {
    "hidden": "hidden",
    "ignored": "excluded by .gitignore",
    "vendored": "installed packages",
    "generated": "generated",
    "database": "of a Postgres server",
    "link": "symbolic links",
    "binary": "neither text nor of a supported format",
    "empty": "without text",
    "too_large": "too large",
}


def show_left_out(counted: Mapping[str, Any]) -> None:
    """Prints a line for each reason, with the number of files and folders and some of them."""
    for reason, label in LABELS.items():
        if (found := counted.get(reason)) is not None:
            examples = ", ".join(found["examples"]) + (", …" if found["count"] > len(found["examples"]) else "")
            terminal.err.print(f"Left out {found['count']} {label}: {escape(examples)}", soft_wrap=True)


MOST_WARNED = 30
"""Files whose warnings are printed."""
COMMON = 5
"""If at least this many files have a warning of one kind, it is printed once for all of them."""


def show(summary: Summary) -> None:
    """Prints a table by format, what is left out, warnings by file, each failure with its reason, and the counts."""
    _show_formats(summary, ("files", "documents", "chunks", "failed"))
    show_left_out(summary.left_out.as_json())
    _show_warnings(summary.warnings)
    for path, reason in summary.failures:
        terminal.err.print(f"[red]failed[/] {escape(path)}: {escape(summary.reason(path, reason))}", soft_wrap=True)
    counts, failed = summary.counts, len(summary.failures)
    chunks = terminal.format_count(summary.chunks, "chunk")
    terminal.out.print(
        f"{counts['added']} added, {counts['replaced']} replaced, {counts['unchanged']} unchanged, "
        f"{failed} failed; {chunks} in {timedelta(seconds=round(summary.seconds))}."
    )


def _show_warnings(warnings: Sequence[tuple[str, str]]) -> None:
    """Prints common warnings once, with the number of their files, and the other warnings by file."""
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    by_path: defaultdict[str, list[str]] = defaultdict(list)
    for path, warning in warnings:
        by_kind[_kind(warning)].append(path)
    for path, warning in warnings:
        if len(by_kind[_kind(warning)]) < COMMON:
            by_path[path].append(warning)
    for kind, paths in by_kind.items():
        if len(paths) >= COMMON:
            example = f"{kind}: {len(paths):,} files, such as {paths[0]}"
            terminal.err.print(f"[yellow]warning[/] {escape(example)}", soft_wrap=True)
    for path, found in islice(by_path.items(), MOST_WARNED):
        terminal.err.print(f"[yellow]warning[/] {escape(path)}: {escape(' '.join(found))}", soft_wrap=True)
    if by_path.keys() != {path for path, _warning in warnings} or len(by_path) > MOST_WARNED:
        terminal.err.print("With --json all warnings of each file are printed.", soft_wrap=True)


def _kind(warning: str) -> str:
    """The kind of a warning: its text before the amount."""
    return warning.partition(":")[0].rstrip(".")


def so_far(summary: Summary, files: Files) -> str:
    """What an interrupted ingest has stored, and how to go on."""
    chunks = terminal.format_count(summary.chunks, "chunk")
    return (
        f"{summary.read:,} of {len(files.listed):,} files are done, with {chunks}. "
        "Repeat the command to continue: files that have not changed are not stored again."
    )


def _show_formats(summary: Summary, columns: Sequence[str]) -> None:
    if len(summary.formats) < 2:
        return
    table = terminal.table("format", *columns)
    for name, count in sorted(summary.formats.items(), key=lambda item: (-item[1].files, item[0])):
        label = formats.BY_NAME[name].label if name in formats.BY_NAME else "other"
        table.add_row(label, *(f"{getattr(count, column):,}" for column in columns))
    terminal.err.print(table)


def planned(summary: Summary, files: Files) -> dict[str, object]:
    """What an ingest would read, as --dry-run --json prints it."""
    kept = {name: {"files": count.files, "bytes": count.bytes} for name, count in sorted(summary.formats.items())}
    pages = {"pages": len(files.addresses)} if files.addresses else {}
    counted = {"dry_run": True, "files": len(files.listed), "estimated_chunks": files.chunks}
    read = {**counted, **pages, "formats": kept}
    return {**read, "left_out": summary.left_out.as_json(), "failures": summary.as_json()["failures"]}


def show_plan(summary: Summary, plan: Mapping[str, Any]) -> None:
    """Prints what an ingest would read."""
    if pages := plan.get("pages"):
        terminal.out.print(f"{terminal.format_count(pages, 'page')} would be fetched.")
    files, chunks = (
        terminal.format_count(plan[name], noun) for name, noun in (("files", "file"), ("estimated_chunks", "chunk"))
    )
    counted = f"{files} would be read: about {chunks}."
    terminal.out.print(counted, soft_wrap=True)
    _show_formats(summary, ("files", "bytes"))
    show_left_out(summary.left_out.as_json())
    for path, reason in summary.failures:
        terminal.err.print(f"[red]failed[/] {escape(path)}: {escape(reason)}", soft_wrap=True)
