"""Implements `stepwell ingest`: stores files and folders of every supported format."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from app.cli import connecting, options, terminal
from app.cli.client import Client
from app.documents.commands import estimating, ingest_report, uploading
from app.documents.commands.ingest_report import Files, ListedFile, Summary
from app.documents.files import file_reading, folders

_ADDRESS = re.compile(r"https?://", re.I)


@connecting.connect
def ingest(
    client: Client,
    paths: Annotated[
        list[str], typer.Argument(help="Files, folders of files, and addresses of pages, such as https://example.com/.")
    ],
    text_field: Annotated[
        str | None, typer.Option(help="Column of tables, or field of JSON lines, that holds the text.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Store nothing: count files, formats and estimated chunks.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write what was stored, refused and left out to this JSON file.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Add files; the command may be interrupted and repeated, and embeds no text twice.

    Of folders, every file is read that is text or has a supported format. Left out and counted are hidden files, what
    .gitignore files exclude, installed packages, build outputs, lock files, minified files, and the files of a Postgres
    server, such as those of the data folder.
    With --url the files are sent to the service, which reads them, with their pictures if it reads those.
    """
    options.check_target(report, option="--report")
    local = [options.read_path(path) for path in paths if not _is_address(path)]
    summary = Summary()
    listed = find(local, summary, pictures=client.local is None or client.local.reads_pictures)
    files = Files(listed, text_field, [path for path in paths if _is_address(path)])
    if dry_run:
        plan = ingest_report.planned(summary, files)
        _finish(summary, plan, report, partial(ingest_report.show_plan, summary, plan), as_json=as_json)
        return
    try:
        uploading.run(files, summary, client)
    except KeyboardInterrupt:
        raise options.report_interrupt(ingest_report.so_far(summary, files)) from None
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
        terminal.write_json(result)
    else:
        show()
    if summary.failures:
        raise typer.Exit(1)


def _is_address(given: str) -> bool:
    """Whether an argument is the address of a page and no path."""
    return _ADDRESS.match(given) is not None


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
            found[path] = _list(path)[0]
        else:
            summary.fail(path, "No such file or folder.")
    summary.note(found.values())
    return list(found.values())


def _readable(folder: Path, summary: Summary, *, pictures: bool) -> Iterator[ListedFile]:
    """The files of a folder that are read; one that cannot be opened is among them, and fails later."""
    for path in folders.files(folder, summary.left_out, summary.unreadable):
        file, head = _list(path)
        reason = None if head is None else folders.unread(head, file.size, path.name, pictures=pictures)
        if reason is not None:
            summary.left_out.add(reason, path.relative_to(folder).as_posix())
        else:
            yield replace(file, is_found=True)


def _list(path: Path) -> tuple[ListedFile, bytes | None]:
    """A file with its first bytes; None if it cannot be opened."""
    try:
        with path.open("rb") as opened:
            head = opened.read(file_reading.HEAD)
            size = os.fstat(opened.fileno()).st_size
    except OSError:
        return ListedFile(path, 0, "unsupported"), None
    format = file_reading.format_name(head, path.name)
    return ListedFile(path, size, format, estimating.chunks_of(path, size, format, head)), head
