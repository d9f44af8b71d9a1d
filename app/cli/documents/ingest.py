"""Implements `stepwell ingest`: stores files and folders of every supported format."""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from app import config, errors, runtime
from app.cli import options
from app.cli.documents import embedded, extraction, ingest_pages, ingest_progress, ingest_report
from app.cli.documents.ingest_progress import Chunks, CountingEmbedder
from app.cli.documents.ingest_report import ListedFile, Summary
from app.config import Settings
from app.pipelines.documents import file_reading, picture_lines
from app.pipelines.documents import ingest as pipeline
from app.pipelines.documents.file_reading import FileReader, NamedFile, ParseLimits, Recognise, UnreadMember
from app.pipelines.running import stage_times
from app.pipelines.running.services import Services
from app.pipelines.running.stage_times import StageTimes
from app.pipelines.sources import folders, source_roots
from app.providers.calls import scope
from app.shapes import Upload

PROVIDER_RETRY_S = 900.0
"""How long passages are sent again while a remote embedder fails; then the command ends and can be repeated."""


@dataclass(frozen=True, slots=True)
class Files:
    """Files to read, the field of their records that holds the text (None: chosen by name), and pages to fetch."""

    listed: Sequence[ListedFile]
    text_field: str | None = None
    addresses: Sequence[str] = ()


def ingest(
    paths: Annotated[
        list[str], typer.Argument(help="Files, folders of files, and addresses of pages, such as https://example.com/.")
    ],
    text_field: Annotated[
        str | None, typer.Option(help="Column of tables, or field of JSON lines, that holds the text.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Store nothing: count files, formats, estimated chunks and minutes.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write what was stored, refused and left out to this JSON file.")
    ] = None,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Add files; the command may be interrupted and repeated, and embeds no text twice.

    Of folders, every file is read that is text or has a supported format. Left out and counted are hidden files, what
    .gitignore files exclude, installed packages, build outputs, lock files, minified files, and the files of a Postgres
    server, such as those of the data folder. A page is fetched again only if its site says that it has changed.
    """
    summary = Summary()
    settings = options.settings(data_dir)
    local = [Path(path) for path in paths if not ingest_pages.is_address(path)]
    listed = find(local, summary, pictures=runtime.reads_pictures(settings))
    files = Files(listed, text_field, [path for path in paths if ingest_pages.is_address(path)])
    for path in local:
        embedded.note_left_out(path, settings)
    if dry_run:
        plan = ingest_report.planned(summary, files.listed, config.usable_cores())
        plan |= {"pages": len(files.addresses)} if files.addresses else {}
        _finish(summary, plan, report, partial(ingest_report.show_plan, summary, plan), as_json=as_json)
        return
    options.run(_ingest(files, summary, options.checked_user(user), settings))
    show = partial(ingest_report.show, summary)
    _finish(summary, summary.as_json(), report, show, as_json=as_json, written=summary.report())


def _finish(
    summary: Summary,
    result: Mapping[str, object],
    report: Path | None,
    show: Callable[[], None],
    *,
    as_json: bool,
    written: Mapping[str, object] | None = None,
) -> None:
    """Writes the report, and prints the result as JSON or with `show`; exits with 1 after a failure."""
    if report is not None:
        ingest_report.write(report, written or result)
    if as_json:
        typer.echo(json.dumps(result))
    else:
        show()
    if summary.failures:
        raise typer.Exit(1)


def find(paths: Sequence[Path], summary: Summary, *, pictures: bool = False) -> list[ListedFile]:
    """The files to read, each once, in order.

    Named files are read whatever they are. Missing paths and what is left out of folders are counted in `summary`.
    `pictures`: whether text in pictures is read.
    """
    found: dict[Path, ListedFile] = {}
    for path in paths:
        if folders.is_in_database(path.absolute()):
            summary.fail(path, "It belongs to a Postgres server.")
        elif path.is_dir():
            found |= {file.path: file for file in _readable(path, summary, pictures=pictures)}
        elif path.is_file():
            found[path] = _listed(path)[0]
        else:
            summary.fail(path, "No such file or folder.")
    summary.note(found.values())
    return list(found.values())


def _readable(folder: Path, summary: Summary, *, pictures: bool) -> Iterator[ListedFile]:
    """The files of a folder that are read; one that cannot be opened is among them, and fails later."""
    for path in folders.files(folder, summary.left_out, summary.unreadable):
        file, head = _listed(path)
        reason = None if head is None else folders.unread(head, file.size, path.name, pictures=pictures)
        if reason is not None:
            summary.left_out.add(reason, path.relative_to(folder).as_posix())
        else:
            yield replace(file, is_found=True)


def _listed(path: Path) -> tuple[ListedFile, bytes | None]:
    """A file with its first bytes; None if it cannot be opened."""
    try:
        with path.open("rb") as opened:
            head = opened.read(file_reading.HEAD)
            size = os.fstat(opened.fileno()).st_size
    except OSError:
        return ListedFile(path, 0, "unsupported"), None
    return ListedFile(path, size, file_reading.format_name(head, path.name)), head


async def read(
    files: Files, summary: Summary, limits: ParseLimits, recognise: Recognise | None = None
) -> AsyncGenerator[Upload, None]:
    """Yields the documents of the files; records files that cannot be read as failed."""
    async with file_reading.opened(limits, recognise=recognise) as reader:
        for file in files.listed:
            path = file.path
            try:
                async with aclosing(_uploads(path, files.text_field, reader)) as uploads:
                    async for found in uploads:
                        if isinstance(found, Upload):
                            yield found
                        else:
                            summary.leave_out(path, found)
            except OSError as error:
                summary.unreadable(path, error)
            except errors.UnreadableFile as error:
                summary.refuse_file(file, error)
            except errors.BadRequest as error:
                summary.fail(path, error.message)


async def _uploads(
    path: Path, text_field: str | None, reader: FileReader
) -> AsyncGenerator[Upload | UnreadMember, None]:
    """The documents of a file, and the files of an archive that cannot be read. Raises OSError and BadRequest."""
    with stage_times.stage("parsing"):
        file = _named(path, text_field)
    async with aclosing(stage_times.waiting("parsing", reader.uploads(file))) as uploads:
        async for upload in uploads:
            yield upload


def _named(path: Path, text_field: str | None) -> NamedFile:
    """A file with its content. Raises OSError, and BadRequest for one that is too large."""
    if path.stat().st_size > source_roots.LARGEST_FILE:
        raise errors.BadRequest(f"Larger than {source_roots.LARGEST_FILE // 1_000_000} MB.")
    return NamedFile(path.read_bytes(), path.name, uri=path.resolve().as_uri(), text_field=text_field)


async def _ingest(files: Files, summary: Summary, user_id: str, settings: Settings) -> None:
    async with runtime.open_services(settings) as services:
        with scope.retrying_bulk(PROVIDER_RETRY_S):
            recognise = picture_lines.recogniser(user_id, services)
            async with aclosing(read(files, summary, services.parse_limits, recognise)) as uploads:
                await store(uploads, round(sum(file.text_bytes for file in files.listed)), summary, user_id, services)
            await ingest_pages.store(files.addresses, files.text_field, summary, user_id, services)
        await extraction.finish(user_id, services)


async def store(
    uploads: Iterable[Upload] | AsyncIterable[Upload],
    total_bytes: int,
    summary: Summary,
    user_id: str,
    services: Services,
) -> None:
    """Stores uploads of `total_bytes` and shows the progress, with rates, the busiest stage and the time left."""
    began, times = time.monotonic(), StageTimes()
    summary.stages = times.seconds
    with ingest_progress.bar() as bar, stage_times.measuring(times):
        progress = Chunks(bar, total_bytes, times)
        embedder = CountingEmbedder(services.embedder, progress.embedded)
        async for outcome in pipeline.many(uploads, user_id, replace(services, embedder=embedder)):
            if outcome.stored is not None:
                summary.store(outcome.upload, outcome.stored)
                progress.stored(outcome.upload, outcome.stored)
            elif outcome.error is not None:
                summary.refuse(outcome.upload, outcome.error.message)
        progress.finish()
    summary.seconds = time.monotonic() - began
