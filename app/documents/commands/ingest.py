"""Implements `stepwell ingest`: stores files and folders of every supported format."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from app.cli import connecting, options, terminal
from app.cli.client import Client
from app.documents.commands import left_out, uploading
from app.documents.commands.ingesting import CHUNK_BYTES, Files, ListedFile, Summary
from app.documents.files import file_reading, folders
from app.parsing import formats

MOST_WARNINGS = 50
"""Warnings that are printed."""


def show(summary: Summary) -> None:
    """Prints the counts, a table by format, what is left out, warnings, and each failure with its reason."""
    counts, failed = summary.counts, len(summary.failures)
    options.out.print(
        f"{counts['added']} added, {counts['replaced']} replaced, {counts['unchanged']} unchanged, "
        f"{failed} failed; {summary.chunks} chunks."
    )
    _show_formats(summary, ("files", "documents", "chunks", "failed"))
    left_out.show(summary.left_out.as_json())
    for path, warning in summary.warnings[:MOST_WARNINGS]:
        options.err.print(f"[yellow]warning[/] {escape(path)}: {escape(warning)}", soft_wrap=True)
    if (more := len(summary.warnings) - MOST_WARNINGS) > 0:
        options.err.print(f"{more:,} more warnings are in the report of --report.", soft_wrap=True)
    for path, reason in summary.failures:
        options.err.print(f"[red]failed[/] {escape(path)}: {escape(summary.reason(path, reason))}", soft_wrap=True)


def _show_formats(summary: Summary, columns: Sequence[str]) -> None:
    if len(summary.formats) < 2:
        return
    table = options.table("format", *columns)
    for name, count in sorted(summary.formats.items(), key=lambda item: (-item[1].files, item[0])):
        label = formats.BY_NAME[name].label if name in formats.BY_NAME else "other"
        table.add_row(label, *(f"{getattr(count, column):,}" for column in columns))
    options.err.print(table)


def planned(summary: Summary, files: Files) -> dict[str, object]:
    """What an ingest would read, as --dry-run --json prints it."""
    kept = {name: {"files": count.files, "bytes": count.bytes} for name, count in sorted(summary.formats.items())}
    pages = {"pages": len(files.addresses)} if files.addresses else {}
    counted = {"dry_run": True, "files": len(files.listed), "estimated_chunks": round(files.text_bytes / CHUNK_BYTES)}
    read = {**counted, **pages, "formats": kept}
    return {**read, "left_out": summary.left_out.as_json(), "failures": summary.as_json()["failures"]}


def show_plan(summary: Summary, plan: Mapping[str, Any]) -> None:
    """Prints what an ingest would read."""
    if pages := plan.get("pages"):
        options.out.print(f"{pages:,} pages would be fetched.")
    counted = f"{plan['files']:,} files would be read: about {plan['estimated_chunks']:,} chunks."
    options.out.print(counted, soft_wrap=True)
    _show_formats(summary, ("files", "bytes"))
    left_out.show(summary.left_out.as_json())
    for path, reason in summary.failures:
        options.err.print(f"[red]failed[/] {escape(path)}: {escape(reason)}", soft_wrap=True)


def write(path: Path, report: Mapping[str, object]) -> None:
    """Writes a report as JSON."""
    options.write_text(path, json.dumps(report, ensure_ascii=False, indent=1) + "\n", option="--report")


TEXT_SHARE = 0.05
"""Estimated share of text in the bytes of PDF and Office files."""
PICTURE_BYTES = 2_000
"""Estimated bytes of text on a picture."""
_ADDRESS = re.compile(r"https?://", re.I)


@connecting.connected
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
    server, such as those of the data folder. A page is fetched again only if its site says that it has changed.
    With --url the files are sent to the service, which reads them, with their pictures if it reads those.
    """
    options.check_target(report, option="--report")
    local = [options.read_path(path) for path in paths if not _is_address(path)]
    summary = Summary()
    listed = find(local, summary, pictures=client.local is None or client.local.reads_pictures)
    files = Files(listed, text_field, [path for path in paths if _is_address(path)])
    if dry_run:
        plan = planned(summary, files)
        _finish(summary, plan, report, partial(show_plan, summary, plan), as_json=as_json)
        return
    uploading.run(files, summary, client)
    result, written = summary.as_json(), summary.report()
    _finish(summary, result, report, partial(show, summary), as_json=as_json, written=written)


def _finish(
    summary: Summary,
    result: Mapping[str, object],
    report: Path | None,
    print_result: Callable[[], None],
    *,
    as_json: bool,
    written: Mapping[str, object] | None = None,
) -> None:
    """Writes the report, and prints the result as JSON or with `print_result`; exits with 1 after a failure."""
    if report is not None:
        write(report, written or result)
    if as_json:
        terminal.write_json(result)
    else:
        print_result()
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
    format = file_reading.format_name(head, path.name)
    share = TEXT_SHARE if file_reading.is_binary(path.name) else 1.0
    if format == file_reading.PICTURE:
        share = PICTURE_BYTES / max(1, size)
    return ListedFile(path, size, format, share), head
