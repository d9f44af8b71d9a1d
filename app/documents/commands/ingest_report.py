"""Counts and prints what an ingest reads, and what it has stored, refused and left out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from rich.markup import escape

from app.cli import terminal
from app.documents.files import left_out_rules
from app.documents.files.left_out_rules import LeftOutCounts
from app.enums import LeftOutReason
from app.parsing import formats


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file to read: its path, its size in bytes, and the name of the format that its first bytes show.

    `is_found` is set if it was found in a folder, not if the command names it.
    """

    path: Path
    size: int
    format: str
    is_found: bool = False


@dataclass(frozen=True, slots=True)
class Files:
    """Files to read, the field that holds the text of their records (None: chosen by name), and pages to fetch."""

    listed: Sequence[ListedFile]
    text_field: str | None = None
    addresses: Sequence[str] = ()


@dataclass(slots=True)
class Summary:
    """Counts documents by status, counts left-out files by reason, and lists warnings and failures.

    `read` is the number of files that the service has finished.
    """

    counts: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    read: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    left_out: LeftOutCounts = field(default_factory=LeftOutCounts)
    seconds: float = 0.0
    _warned: set[tuple[str, str]] = field(default_factory=set)

    def store(self, path: str, status: str, chunks: int, warnings: Iterable[str] = ()) -> None:
        """Counts a document of a file that has been stored or found unchanged."""
        self.counts[status] += 1
        for warning in warnings:  # each once, even if several documents of the file have it
            if (path, warning) not in self._warned:
                self._warned.add((path, warning))
                self.warnings.append((path, warning))
        self.chunks += chunks

    def refuse(self, path: str, reason: str) -> None:
        """Records a document that cannot be stored. Several such documents of a file count as one failure."""
        self.refused[path] += 1
        if self.refused[path] == 1:
            self.fail(path, reason)

    def fail(self, path: Path | str, reason: str) -> None:
        """Records a file, folder or page that is not stored."""
        self.failures.append((left_out_rules.show(path), reason))

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
    """Prints what is left out, warnings by file, each failure with its reason, and the counts."""
    show_left_out(summary.left_out.as_json())
    show_warnings(summary.warnings)
    for path, reason in summary.failures:
        terminal.err.print(f"[red]failed[/] {escape(path)}: {escape(summary.reason(path, reason))}", soft_wrap=True)
    counts, failed = summary.counts, len(summary.failures)
    chunks = terminal.format_count(summary.chunks, "chunk")
    terminal.out.print(
        f"{counts['added']} added, {counts['replaced']} replaced, {counts['unchanged']} unchanged, "
        f"{failed} failed; {chunks} in {timedelta(seconds=round(summary.seconds))}."
    )


def show_warnings(warnings: Sequence[tuple[str, str]]) -> None:
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


def planned(summary: Summary, files: Files) -> dict[str, object]:
    """What an ingest would read, as --dry-run --json prints it."""
    by_format: dict[str, Counter[str]] = defaultdict(Counter)
    for file in sorted(files.listed, key=attrgetter("format")):
        by_format[file.format].update(files=1, bytes=file.size)
    pages = {"pages": len(files.addresses)} if files.addresses else {}
    read = {"dry_run": True, "files": len(files.listed), **pages, "formats": by_format}
    return {**read, "left_out": summary.left_out.as_json(), "failures": summary.as_json()["failures"]}


def show_plan(summary: Summary, plan: Mapping[str, Any]) -> None:
    """Prints what an ingest would read."""
    if pages := plan.get("pages"):
        terminal.out.print(f"{terminal.format_count(pages, 'page')} would be fetched.")
    terminal.out.print(f"{terminal.format_count(plan['files'], 'file')} would be read.")
    table = terminal.table("format", "files", "bytes")
    for name, counted in plan["formats"].items():
        label = formats.BY_NAME[name].label if name in formats.BY_NAME else "other"
        table.add_row(label, f"{counted['files']:,}", f"{counted['bytes']:,}")
    if table.row_count:
        terminal.err.print(table)
    show_left_out(summary.left_out.as_json())
    for path, reason in summary.failures:
        terminal.err.print(f"[red]failed[/] {escape(path)}: {escape(reason)}", soft_wrap=True)
