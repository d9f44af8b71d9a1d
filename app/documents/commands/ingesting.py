"""Counts what an ingest stores, refuses and leaves out, by format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from pathlib import Path

from app.documents.files.left_out import LeftOutCounts


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file to read: its path, its size, and the name of its format, which its first bytes show.

    `chunks` is an estimate. `is_found`: it was found in a folder, and not named itself.
    """

    path: Path
    size: int
    format: str
    chunks: float = 1.0
    is_found: bool = False


@dataclass(frozen=True, slots=True)
class Files:
    """Files to read, the field of their records that holds the text (None: chosen by name), and pages to fetch."""

    listed: Sequence[ListedFile]
    text_field: str | None = None
    addresses: Sequence[str] = ()

    @property
    def chunks(self) -> int:
        """Their estimated chunks."""
        return round(sum(file.chunks for file in self.listed))


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
    """Counts documents by status and format and what is left out by reason, and lists warnings and failures.

    `read` are the files that the service has answered for.
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
    stages: Mapping[str, float] = field(default_factory=dict)
    _format_of: dict[str, str] = field(default_factory=dict)
    _warned: set[tuple[str, str]] = field(default_factory=set)

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

    def store(self, path: str, status: str, chunks: int, warnings: Iterable[str] = ()) -> None:
        """Counts a document of a file that has been stored or found unchanged."""
        self.counts[status] += 1
        for warning in warnings:
            self._warn(path, warning)
        self.chunks += chunks
        if (count := self._count_of(path)) is not None:
            count.documents += 1
            count.chunks += chunks

    def refuse(self, path: str, reason: str) -> None:
        """Records a document that cannot be stored; several of one file are one failure, with the first reason."""
        self.refused[path] += 1
        if self.refused[path] == 1:
            self.fail(path, reason)

    def fail(self, path: Path | str, reason: str) -> None:
        """Records a file or folder that cannot be read."""
        self.failures.append((str(path), reason))
        if (count := self._count_of(str(path))) is not None:
            count.failed += 1

    def unreadable(self, path: Path, error: OSError) -> None:
        """Records a file or folder that the system does not let read."""
        self.fail(path, str(error.strerror))

    def sort(self) -> None:
        """Puts warnings and failures in the order of their paths."""
        self.warnings.sort(key=itemgetter(0))
        self.failures.sort(key=itemgetter(0))

    def reason(self, path: str, reason: str) -> str:
        """A reason with the number of the file's documents that were refused, if there are several."""
        return reason if self.refused[path] < 2 else f"{reason} ({self.refused[path]} documents of the file)"

    def as_json(self) -> dict[str, object]:
        """The summary as printed by --json."""
        statuses = {name: self.counts[name] for name in ("added", "replaced", "unchanged")}
        failed = [{"path": path, "reason": self.reason(path, reason)} for path, reason in self.failures]
        counted = {"failed": len(failed), "chunks": self.chunks, "left_out": self.left_out.as_json()}
        warned = [{"path": path, "warning": warning} for path, warning in self.warnings]
        return {**statuses, **counted, "failures": failed, "warnings": warned}

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

    def _warn(self, path: str, warning: str) -> None:
        """Lists a warning on a file once, however many of its documents have it."""
        if (path, warning) not in self._warned:
            self._warned.add((path, warning))
            self.warnings.append((path, warning))

    def _count_of(self, path: str) -> FormatCount | None:
        if (name := self._format_of.get(path)) is None:
            resolved = Path(path).resolve()
            places = map(str, (resolved, *resolved.parents))  # a file of an archive is counted with the archive
            name = next((self._format_of[place] for place in places if place in self._format_of), None)
        return None if name is None else self.formats[name]
