"""Implements `stepwell ingest`: stores files and folders of every supported format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from app import errors, runtime
from app.cli import options
from app.cli.documents import embedded, extraction, left_out
from app.config import Settings
from app.pipelines.documents import file_reading
from app.pipelines.documents import ingest as pipeline
from app.pipelines.documents.file_reading import NamedFile, ParseLimits
from app.pipelines.running import model_switch
from app.pipelines.running.services import Services
from app.pipelines.sources import folders, source_roots
from app.providers.base import Embedder, EmbeddingModel
from app.providers.calls import scope
from app.shapes import IngestResult, LeftOut, Upload, Vector

PROVIDER_RETRY_S = 900.0
"""How long passages are sent again while a remote embedder fails; then the command ends and can be repeated."""
TEXT_SHARE = 0.05
"""Estimated share of text in the bytes of PDF and Office files."""
CHUNK_BYTES = 600
"""Bytes of text per chunk, until documents of this ingest show it."""


class Rate(ProgressColumn):
    """Chunks per second."""

    def render(self, task: Task) -> Text:
        """The average since the start."""
        return Text(f"{task.speed:.0f}/s" if task.speed else "–/s")


@dataclass(frozen=True, slots=True)
class Files:
    """Files to read, and the field of their records that holds the text (None: chosen by name)."""

    paths: Sequence[Path]
    text_field: str | None = None


@dataclass(slots=True)
class Summary:
    """Counts the documents by status and what is left out by reason, and lists why files failed."""

    counts: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    left_out: LeftOut = field(default_factory=LeftOut)

    def refuse(self, upload: Upload, reason: str) -> None:
        """Records a document that cannot be stored; several of one file are one failure, with the first reason."""
        path = (upload.uri or "").partition("#")[0]
        self.refused[path] += 1
        if self.refused[path] == 1:
            self.failures.append((path, reason))

    def fail(self, path: Path, error: OSError) -> None:
        """Records a file or folder that cannot be read."""
        self.failures.append((str(path), str(error.strerror)))

    def reason(self, path: str, reason: str) -> str:
        """A reason with the number of the file's documents that were refused, if there are several."""
        return reason if self.refused[path] < 2 else f"{reason} ({self.refused[path]} documents of the file)"

    def as_json(self) -> dict[str, object]:
        """The summary as printed by --json."""
        statuses = {name: self.counts[name] for name in ("added", "replaced", "unchanged")}
        failed = [{"path": path, "reason": self.reason(path, reason)} for path, reason in self.failures]
        counted = {"failed": len(failed), "chunks": self.chunks, "left_out": self.left_out.as_json()}
        return {**statuses, **counted, "failures": failed}


class Chunks:
    """Shows the progress of an ingest in chunks, of an estimated total.

    Chunks that are embedded count at once; those whose vectors are stored already count with their document.
    """

    def __init__(self, bar: Progress, total_bytes: int) -> None:
        self._bar = bar
        self._task = bar.add_task("ingest", total=total_bytes / CHUNK_BYTES)
        self._total_bytes = total_bytes
        self._bytes = 0
        self._stored = 0
        self._embedded = 0
        self._reused = 0

    def embedded(self, chunks: int) -> None:
        """Counts chunks that have been embedded."""
        self._embedded += chunks
        self._show()

    def stored(self, upload: Upload, stored: IngestResult) -> None:
        """Counts a document that has been stored or found unchanged, and corrects the estimate of the total."""
        self._bytes += len(upload.content.encode())
        self._stored += stored.chunk_count
        self._reused += stored.chunk_count - stored.embedded
        self._show()

    def finish(self) -> None:
        """Shows the number of stored chunks as the total."""
        self._bar.update(self._task, completed=self._stored, total=self._stored)

    def _show(self) -> None:
        chunk_bytes = self._bytes / self._stored if self._stored else CHUNK_BYTES
        total = self._stored + max(0, self._total_bytes - self._bytes) / chunk_bytes
        done = max(self._stored, self._reused + self._embedded)
        self._bar.update(self._task, completed=done, total=round(max(total, done)))


@dataclass(frozen=True, slots=True)
class CountingEmbedder:
    """An embedder that reports how many chunks it has embedded."""

    embedder: Embedder
    report: Callable[[int], None]

    @property
    def model(self) -> EmbeddingModel:
        """The model of the embedder behind it."""
        return self.embedder.model

    @property
    def switch(self) -> object:
        """The embedder behind it where its model can be replaced."""
        return model_switch.of(self.embedder)

    async def embed_query(self, text: str) -> Vector:
        """Embeds one query."""
        return await self.embedder.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embeds passages and reports their number."""
        vectors = await self.embedder.embed_documents(texts)
        self.report(len(texts))
        return vectors


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files, and folders of files.")],
    text_field: Annotated[
        str | None, typer.Option(help="Column of tables, or field of JSON lines, that holds the text.")
    ] = None,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Add files; the command may be interrupted and repeated, and embeds no text twice.

    Of folders, every file is read that is text or has a supported format. Left out and counted are hidden files, what
    .gitignore files exclude, installed packages, build outputs, lock files, minified files, and the files of a Postgres
    server, such as those of the data folder.
    """
    summary = Summary()
    settings = options.settings(data_dir)
    files = Files(find(paths, summary), text_field)
    for path in paths:
        embedded.note_left_out(path, settings)
    options.run(_ingest(files, summary, options.checked_user(user), settings))
    if as_json:
        typer.echo(json.dumps(summary.as_json()))
    else:
        _show(summary)
    if summary.failures:
        raise typer.Exit(1)


def find(paths: Sequence[Path], summary: Summary) -> list[Path]:
    """The files to read, each once, in order.

    Named files are read whatever they are. Missing paths and what is left out of folders are counted in `summary`.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if folders.is_in_database(path.absolute()):
            summary.failures.append((str(path), "It belongs to a Postgres server."))
        elif path.is_dir():
            found |= dict.fromkeys(_readable(path, summary))
        elif path.is_file():
            found[path] = None
        else:
            summary.failures.append((str(path), "No such file or folder."))
    return list(found)


def _readable(folder: Path, summary: Summary) -> Iterator[Path]:
    """The files of a folder that are read; one that cannot be opened is among them, and fails later."""
    for file in folders.files(folder, summary.left_out, summary.fail):
        with suppress(OSError):
            with file.open("rb") as opened:
                head = opened.read(file_reading.HEAD)
            if (reason := folders.unread(head, file.stat().st_size, file.name)) is not None:
                summary.left_out.add(reason, file.relative_to(folder).as_posix())
                continue
        yield file


async def read(files: Files, summary: Summary, limits: ParseLimits) -> AsyncGenerator[Upload, None]:
    """Yields the documents of the files; records files that cannot be read as failed."""
    async with file_reading.opened(limits) as reader:
        for path in files.paths:
            try:
                if path.stat().st_size > source_roots.LARGEST_FILE:
                    raise errors.BadRequest(f"Larger than {source_roots.LARGEST_FILE // 1_000_000} MB.")
                uri = path.resolve().as_uri()
                file = NamedFile(path.read_bytes(), path.name, uri=uri, text_field=files.text_field)
                async for upload in reader.uploads(file):
                    yield upload
            except OSError as error:
                summary.fail(path, error)
            except errors.BadRequest as error:
                summary.failures.append((str(path), error.message))


async def _ingest(files: Files, summary: Summary, user_id: str, settings: Settings) -> None:
    async with runtime.open_services(settings) as services:
        with scope.retrying_bulk(PROVIDER_RETRY_S):
            async with aclosing(read(files, summary, services.parse_limits)) as uploads:
                await store(uploads, _bytes(files.paths), summary, user_id, services)
        await extraction.finish(user_id, services)


async def store(
    uploads: Iterable[Upload] | AsyncIterable[Upload],
    total_bytes: int,
    summary: Summary,
    user_id: str,
    services: Services,
) -> None:
    """Stores uploads of `total_bytes` and shows a progress bar with the rate in chunks and the time left."""
    columns = (TextColumn("Ingesting chunks"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=options.err) as bar:
        progress = Chunks(bar, total_bytes)
        embedder = CountingEmbedder(services.embedder, progress.embedded)
        outcomes = pipeline.many(uploads, user_id, replace(services, embedder=embedder))
        async for outcome in outcomes:
            if outcome.stored is not None:
                summary.counts[outcome.stored.status] += 1
                summary.chunks += outcome.stored.chunk_count
                progress.stored(outcome.upload, outcome.stored)
            elif outcome.error is not None:
                summary.refuse(outcome.upload, outcome.error.message)
        progress.finish()


def _bytes(files: Sequence[Path]) -> int:
    """The estimated size of the files' text."""
    total = 0.0
    for path in files:
        with suppress(OSError):
            total += path.stat().st_size * (TEXT_SHARE if file_reading.is_binary(path.name) else 1)
    return round(total)


def _show(summary: Summary) -> None:
    counts = summary.counts
    options.out.print(
        f"{counts['added']} added, {counts['replaced']} replaced, {counts['unchanged']} unchanged, "
        f"{len(summary.failures)} failed; {summary.chunks} chunks."
    )
    left_out.show(summary.left_out)
    for path, reason in summary.failures:
        options.err.print(f"[red]failed[/] {escape(path)}: {escape(summary.reason(path, reason))}", soft_wrap=True)
