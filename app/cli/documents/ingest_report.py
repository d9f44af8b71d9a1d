"""Counts what an ingest stores, refuses and leaves out, by format, and prints and writes it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from rich.markup import escape

from app.cli import options
from app.cli.documents import left_out
from app.errors import UnreadableFile
from app.pipelines.documents import file_reading
from app.pipelines.documents.file_reading import PICTURE, UnreadMember
from app.pipelines.running.stage_times import Stage
from app.shapes import IngestResult, LeftOut, Upload, uris

TEXT_SHARE = 0.05
"""Estimated share of text in the bytes of PDF and Office files."""
PICTURE_BYTES = 2_000
"""Estimated bytes of text on a picture."""
CHUNK_BYTES = 600
"""Bytes of text per chunk, until documents of this ingest show it."""
CHUNK_S = 0.02
"""Seconds of a core for a chunk with the built-in model."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file to read: its path, its size, and the name of its format, which its first bytes show.

    `is_found`: it was found in a folder, and not named itself.
    """

    path: Path
    size: int
    format: str
    is_found: bool = False

    @property
    def text_bytes(self) -> float:
        """The estimated size of its text."""
        if self.format == PICTURE:
            return PICTURE_BYTES
        return self.size * (TEXT_SHARE if file_reading.is_binary(self.path.name) else 1)


@dataclass(slots=True)
class FormatCount:
    """What became of the files of one format."""

    files: int = 0
    bytes: int = 0
    documents: int = 0
    chunks: int = 0
    failed: int = 0


@dataclass(slots=True)
class Summary:
    """Counts the documents by status and format and what is left out by reason, and lists why files failed."""

    counts: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    left_out: LeftOut = field(default_factory=LeftOut)
    formats: dict[str, FormatCount] = field(default_factory=dict)
    seconds: float = 0.0
    stages: Mapping[Stage, float] = field(default_factory=dict)
    _format_of: dict[str, str] = field(default_factory=dict)

    def note(self, files: Iterable[ListedFile]) -> None:
        """Counts files that are to be read."""
        for file in files:
            self.note_page(str(file.path.resolve()), file.size, file.format)

    def note_page(self, place: str, size: int, format: str) -> None:
        """Counts a page by its address, or a file by its absolute path."""
        self._format_of[place] = format
        count = self.formats.setdefault(format, FormatCount())
        count.files += 1
        count.bytes += size

    def store(self, upload: Upload, stored: IngestResult) -> None:
        """Counts a document that has been stored or found unchanged."""
        self.counts[stored.status] += 1
        self.chunks += stored.chunk_count
        if (count := self._count_of(_path(upload))) is not None:
            count.documents += 1
            count.chunks += stored.chunk_count

    def refuse(self, upload: Upload, reason: str) -> None:
        """Records a document that cannot be stored; several of one file are one failure, with the first reason."""
        path = _path(upload)
        self.refused[path] += 1
        if self.refused[path] == 1:
            self.fail(path, reason)

    def fail(self, path: Path | str, reason: str) -> None:
        """Records a file or folder that cannot be read."""
        self.failures.append((str(path), reason))
        if (count := self._count_of(str(path))) is not None:
            count.failed += 1

    def refuse_file(self, file: ListedFile, error: UnreadableFile) -> None:
        """Records a file that cannot be read; a picture without text in a folder, such as a photo, is left out."""
        if file.is_found and file.format == PICTURE and error.code == "no_text":
            self.left_out.add("empty", file.path.name)
        else:
            self.fail(file.path, error.message)

    def leave_out(self, archive: Path | str, member: UnreadMember) -> None:
        """Records a file of an archive that cannot be read, as a file of a folder is recorded."""
        if member.left_out is not None:
            self.left_out.add(member.left_out, f"{PurePosixPath(archive).name}/{member.path}")
        else:
            self.fail(f"{archive}/{member.path}", member.error.message)

    def unreadable(self, path: Path, error: OSError) -> None:
        """Records a file or folder that the system does not let read."""
        self.fail(path, str(error.strerror))

    def reason(self, path: str, reason: str) -> str:
        """A reason with the number of the file's documents that were refused, if there are several."""
        return reason if self.refused[path] < 2 else f"{reason} ({self.refused[path]} documents of the file)"

    def as_json(self) -> dict[str, object]:
        """The summary as printed by --json."""
        statuses = {name: self.counts[name] for name in ("added", "replaced", "unchanged")}
        failed = [{"path": path, "reason": self.reason(path, reason)} for path, reason in self.failures]
        counted = {"failed": len(failed), "chunks": self.chunks, "left_out": self.left_out.as_json()}
        return {**statuses, **counted, "failures": failed}

    def report(self) -> dict[str, object]:
        """The summary with its formats, its times and its rates, as --report writes it."""
        documents = self.counts.total()
        rates = {"documents": documents, "chunks": self.chunks}
        return {
            **self.as_json(),
            "formats": {name: asdict(count) for name, count in sorted(self.formats.items())},
            "seconds": round(self.seconds, 2),
            "per_second": {name: round(count / self.seconds, 2) for name, count in rates.items() if self.seconds},
            "stages": {stage: round(seconds, 2) for stage, seconds in sorted(self.stages.items())},
        }

    def _count_of(self, path: str) -> FormatCount | None:
        if (name := self._format_of.get(path)) is None:
            resolved = Path(path).resolve()
            places = map(str, (resolved, *resolved.parents))  # a file of an archive is counted with the archive
            name = next((self._format_of[place] for place in places if place in self._format_of), None)
        return None if name is None else self.formats[name]


def _path(upload: Upload) -> str:
    return uris.shown((upload.uri or "").partition("#")[0])


def show(summary: Summary) -> None:
    """Prints the counts, a table by format, what is left out, and each failure with its reason."""
    counts, failed = summary.counts, len(summary.failures)
    options.out.print(
        f"{counts['added']} added, {counts['replaced']} replaced, {counts['unchanged']} unchanged, "
        f"{failed} failed; {summary.chunks} chunks."
    )
    _show_formats(summary, ("files", "documents", "chunks", "failed"))
    left_out.show(summary.left_out.as_json())
    for path, reason in summary.failures:
        options.err.print(f"[red]failed[/] {escape(path)}: {escape(summary.reason(path, reason))}", soft_wrap=True)


def _show_formats(summary: Summary, columns: Sequence[str]) -> None:
    if len(summary.formats) < 2:
        return
    table = options.table("format", *columns)
    for name, count in sorted(summary.formats.items(), key=lambda item: (-item[1].files, item[0])):
        table.add_row(name, *(f"{getattr(count, column):,}" for column in columns))
    options.err.print(table)


def estimate(files: Sequence[ListedFile], cores: int) -> dict[str, Any]:
    """The chunks that files will have, and the minutes that the built-in model needs for them."""
    chunks = round(sum(file.text_bytes for file in files) / CHUNK_BYTES)
    return {"estimated_chunks": chunks, "estimated_minutes": round(chunks * CHUNK_S / cores / 60, 1)}


def planned(summary: Summary, files: Sequence[ListedFile], cores: int) -> dict[str, object]:
    """What an ingest would read, as --dry-run --json prints it."""
    kept = {name: {"files": count.files, "bytes": count.bytes} for name, count in sorted(summary.formats.items())}
    counted = {"dry_run": True, "files": len(files), **estimate(files, cores), "formats": kept}
    return {**counted, "left_out": summary.left_out.as_json(), "failures": summary.as_json()["failures"]}


def show_plan(summary: Summary, plan: Mapping[str, Any]) -> None:
    """Prints what an ingest would read."""
    if pages := plan.get("pages"):
        options.out.print(f"{pages:,} pages would be fetched.")
    options.out.print(
        f"{plan['files']:,} files would be read: about {plan['estimated_chunks']:,} chunks, "
        f"{plan['estimated_minutes']:g} minutes with the built-in model.",
        soft_wrap=True,
    )
    _show_formats(summary, ("files", "bytes"))
    left_out.show(summary.left_out.as_json())
    for path, reason in summary.failures:
        options.err.print(f"[red]failed[/] {escape(path)}: {escape(reason)}", soft_wrap=True)


def write(path: Path, report: Mapping[str, object]) -> None:
    """Writes a report as JSON."""
    path.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
