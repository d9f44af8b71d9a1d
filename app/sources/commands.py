"""Implements `stepwell sources`: adds, lists, synchronises and removes sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from app import errors
from app.cli import client_options, options, terminal
from app.cli.client import Answer, Client
from app.cli.progress import Progress
from app.documents.commands import ingest_report
from app.sources.types import COUNTED, EVERYTHING
from app.text import uris

app = typer.Typer(help="Sources: add, list, sync, remove.", no_args_is_help=True)
MAX_SOURCES = 1_000
SourceKey = Annotated[str, typer.Argument(metavar="SOURCE", help="A source's id, name or folder.")]


@app.command()
@client_options.connect
def add(
    client: Client,
    path: Annotated[
        Path,
        typer.Argument(help="A folder, or a file; with --url one of the service's machine.", parser=options.read_path),
    ],
    glob: Annotated[
        list[str] | None,
        typer.Option("--glob", help="Pattern of relative paths; may be repeated.", show_default=EVERYTHING[0]),
    ] = None,
    text_field: Annotated[
        str | None, typer.Option(help="Column of tables, or field of JSON records, that holds the text.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the source.", show_default="that of the folder")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Synchronise after each change in the folder.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Add a folder as a source and store its files; a folder that is a source already is synchronised.

    With --watch a service or a worker that runs keeps the source in step afterwards.
    """
    given = {"globs": glob or None, "text_field": text_field, "name": name}
    request = {"path": str(path.expanduser().resolve() if client.backend.is_local else path), "watch": watch}
    with _progress() as progress:
        added = client.post("/sources", request | {key: one for key, one in given.items() if one is not None})
        added["job"] = _follow(client, added, progress)
    if as_json:
        terminal.write_json(added)
    else:
        line = f"Source {added['name']} ({added['source_id']}): {added['path']}"
        terminal.out.print(escape(line), soft_wrap=True)
        _show(added["job"])
    _exit(added["job"])


@app.command("list")
@client_options.connect
def listed(client: Client, as_json: options.AsJson = False) -> None:
    """List sources, newest first."""
    found = client.list("/sources", "sources", limit=MAX_SOURCES)
    terminal.end_with_json(found, wanted=as_json)
    table = terminal.table("source", "files", "documents", "synced", ids=("source",))
    for one in found:
        globs = " ".join(glob for glob in one["globs"] if glob not in EVERYTHING)
        shown = terminal.cell(one["name"], f"{one['path']} {globs}".strip(), identity=one["source_id"])
        failed = f"{one['failed']} failed" if one["failed"] else None
        synced = terminal.cell(terminal.moment(one["synced_at"]), one["error"], "watched" if one["watch"] else None)
        table.add_row(shown, terminal.cell(str(one["files"]), failed), str(one["documents"]), synced)
    terminal.print_table(table)


@app.command()
@client_options.connect
def sync(client: Client, source: SourceKey, as_json: options.AsJson = False) -> None:
    """Store, rename and remove what has changed in the folder of a source; may be interrupted and repeated."""
    with _progress() as progress:
        job = _follow(client, client.post(f"{_place(client, source)}/sync"), progress)
    if as_json:
        terminal.write_json(job)
    else:
        _show(job)
    _exit(job)


@app.command()
@client_options.connect
def remove(
    client: Client,
    source: SourceKey,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without confirmation.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Remove a source with its documents; the files stay."""
    if not yes:
        found = client.get(_place(client, source))
        named = f"{found['name']} ({found['path']})"
        documents = terminal.format_count(found["documents"], "document")
        terminal.confirm(f"Remove the source {named} with {documents}?")
    removed = client.delete(_place(client, source))
    terminal.end_with_json(removed, wanted=as_json)
    numbers = (terminal.format_count(removed[f"{noun}s_deleted"], noun) for noun in ("document", "chunk", "vector"))
    terminal.out.print("Removed the source, {}, {} and {}.".format(*numbers))


def _place(client: Client, source: str) -> str:
    """The path of the source with this id, name or folder, which may be relative to the working folder.

    Raises NotFound.
    """
    try:
        return f"/sources/{UUID(source)}"
    except ValueError:
        listed = client.list("/sources", "sources", limit=MAX_SOURCES)
    path, absolute = uris.show(source).rstrip("/"), options.absolute_path(source)
    same: tuple[Callable[[Answer], bool], ...] = (
        lambda one: one["name"] == source,
        lambda one: one["name"].casefold() == source.casefold(),
        lambda one: one["path"] == path,
        lambda one: one["path"] == absolute,
    )
    found = next((ids for is_same in same if (ids := [one["source_id"] for one in listed if is_same(one)])), [])
    if len(found) > 1:
        raise errors.Conflict("Several sources have this name or folder: use the id of one.")
    if not found:
        raise errors.NotFound(f"No such source: {source}.")
    return f"/sources/{found[0]}"


def _follow(client: Client, queued: Answer, progress: Callable[[Answer], object]) -> Answer:
    """The job of a source once it has ended, with what follows from it."""
    ended = client.wait_for_job(queued["job_id"], progress)
    client.backend.finish_jobs()
    return ended


@contextmanager
def _progress() -> Iterator[Callable[[Answer], object]]:
    """Shows the states of a job as a bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=terminal.err) as bar:
        task = bar.add_task("Synchronising files", total=None)

        def show(job: Answer) -> None:
            bar.update(task, completed=job["progress"].get("done") or 0, total=job["progress"].get("total"))

        yield show


def _show(job: Answer) -> None:
    if job["status"] == "queued":
        terminal.err.print(
            f"[red]The job failed[/]: {job['error']}. The service tries again at {job['run_at'][:19]}: "
            f"`stepwell jobs show {job['job_id']}` tells how it went.",
            soft_wrap=True,
        )
        return
    if job["status"] != "done":
        terminal.err.print(f"[red]The job is {job['status']}[/]: {job['error'] or 'cancelled'}.")
        return
    result = job["result"]
    terminal.out.print(", ".join(f"{result[name]} {name}" for name in COUNTED) + f"; {result['embedded']} embedded.")
    ingest_report.show_left_out(result.get("left_out", {}))
    ingest_report.show_warnings([(one["path"], one["warning"]) for one in result.get("warnings", ())])
    for failure in result.get("failures", ()):
        terminal.err.print(f"[red]failed[/] {escape(failure['path'])}: {escape(failure['reason'])}", soft_wrap=True)


def _exit(job: Answer) -> None:
    if job["status"] != "done" or job["result"].get("failed"):
        raise typer.Exit(1)
