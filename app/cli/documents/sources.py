"""Implements `stepwell sources`: adds, lists, synchronises and removes sources."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from app import errors, runtime
from app.api.jobs.job_models import StoredJob
from app.api.sources.source_models import AddedSourceResult, CountedSource, SourceDeletion
from app.cli import options
from app.cli.documents import embedded, extraction, left_out
from app.cli.maintenance import owning
from app.cli.progress import Progress
from app.config import Settings
from app.pipelines.jobs import followed_jobs as job_states
from app.pipelines.jobs import kinds
from app.pipelines.running import workers
from app.pipelines.running.services import Services
from app.pipelines.sources import sources
from app.pipelines.sources.sources import EVERYTHING, AddedSource, SourceRequest, SourceState
from app.providers.calls import scope
from app.shapes import JobState, SelectionDeletion
from app.store.connection.transactions import Database

app = typer.Typer(help="Sources: add, list, sync, remove.", no_args_is_help=True)
WAIT_S = 0.2
PROVIDER_RETRY_S = 900.0
"""How long passages are sent again while a remote embedder fails; then the command ends and can be repeated."""
SourceKey = Annotated[str, typer.Argument(metavar="SOURCE", help="A source's id, name or folder.")]
COUNTS = ("added", "replaced", "renamed", "removed", "unchanged", "failed")


@app.command()
def add(
    path: Annotated[Path, typer.Argument(help="A folder, or a file.")],
    glob: Annotated[
        list[str] | None,
        typer.Option("--glob", help="Pattern of relative paths; may be repeated.", show_default=EVERYTHING[0]),
    ] = None,
    text_field: Annotated[
        str | None, typer.Option(help="Column of tables, or field of JSON lines, that holds the text.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the source.", show_default="that of the folder")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Synchronise after each change in the folder.")] = False,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Add a folder as a source and store its files; a folder that is a source already is synchronised.

    With --watch a service or a worker that runs keeps the source in step afterwards.
    """
    globs = tuple(glob) if glob else EVERYTHING
    request = SourceRequest(str(path.expanduser().resolve()), globs, text_field, watch, name)
    settings = options.settings(data_dir)
    embedded.note_left_out(path, settings)
    added, state = options.run(_add(request, options.checked_user(user), settings))
    if as_json:
        shown = AddedSourceResult.added(added).model_dump(mode="json")
        typer.echo(json.dumps({**shown, "job": StoredJob.of(state).model_dump(mode="json")}))
    else:
        line = f"Source {added.source.name} ({added.source.source_id}): {added.source.draft.path}"
        options.out.print(escape(line), soft_wrap=True)
        _show(state)
    _exit(state)


@app.command("list")
def listed(
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """List sources, newest first."""
    user_id = options.checked_user(user)
    limit = sources.MAX_SOURCES
    found = owning.run_as_service(data_dir, lambda db: sources.page(user_id, db=db, limit=limit))
    if as_json:
        typer.echo(json.dumps([CountedSource.counted(state, listed=True).model_dump(mode="json") for state in found]))
        return
    columns = ("source_id", "name", "path", "files", "documents", "failed", "watch", "synced")
    table = options.table(*columns, ids=columns[:1])
    for state in found:
        source, numbers = state.source, state.numbers
        synced = source.synced_at.strftime("%Y-%m-%d %H:%M") if source.synced_at else ""
        path = escape(f"{source.draft.path} {' '.join(g for g in source.draft.globs if g not in EVERYTHING)}".strip())
        counts = (str(numbers.files), str(numbers.documents), str(numbers.failed))
        watched = "yes" if source.draft.watch else ""
        table.add_row(str(source.source_id), escape(source.name), path, *counts, watched, synced)
    options.print_table(table)


@app.command()
def sync(
    source: SourceKey,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Store, rename and remove what has changed in the folder of a source; may be interrupted and repeated."""
    state = options.run(_sync(source, options.checked_user(user), options.settings(data_dir)))
    if as_json:
        typer.echo(StoredJob.of(state).model_dump_json())
    else:
        _show(state)
    _exit(state)


@app.command()
def remove(
    source: SourceKey,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without confirmation.")] = False,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Remove a source with its documents; the files stay."""
    user_id = options.checked_user(user)
    if not yes:
        found = owning.run_as_service(data_dir, lambda db: _found(source, user_id, db))
        named = f"{found.source.name} ({found.source.draft.path})"
        typer.confirm(f"Remove the source {named} with {found.numbers.documents} documents?", abort=True, err=True)
    removed = options.run(_remove(source, user_id, options.settings(data_dir)))
    if as_json:
        typer.echo(SourceDeletion.done(removed).model_dump_json())
    else:
        counts = removed.deleted
        options.out.print(
            f"Removed the source, {counts.documents} documents, {counts.chunks} chunks and {counts.vectors} vectors."
        )


async def _add(request: SourceRequest, user_id: str, settings: Settings) -> tuple[AddedSource, JobState]:
    """Add any folder to an embedded database; to another one only folders that HTTP may add, too."""
    async with runtime.open_services(settings, pool_size=4) as services:
        added = await sources.add(request, user_id, services, confined=settings.database_url is not None)
        return added, await _run(added.job_id, user_id, services)


async def _found(source: str, user_id: str, db: Database) -> SourceState:
    (source_id,) = await sources.find([source], user_id, db=db)
    return await sources.get(source_id, user_id, db=db)


async def _sync(source: str, user_id: str, settings: Settings) -> JobState:
    async with runtime.open_services(settings, pool_size=4) as services:
        (source_id,) = await sources.find([source], user_id, db=services.db)
        return await _run(await sources.sync(source_id, user_id, db=services.db), user_id, services)


async def _remove(source: str, user_id: str, settings: Settings) -> SelectionDeletion:
    async with runtime.open_services(settings, pool_size=4) as services:
        (source_id,) = await sources.find([source], user_id, db=services.db)
        return await sources.delete(source_id, user_id, services, actor=owning.actor())


async def _run(job_id: UUID, user_id: str, services: Services) -> JobState:
    """Run the user's jobs here, or wait for other workers, until a job has ended; shows its progress."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=options.err) as bar, scope.retrying_bulk(PROVIDER_RETRY_S):
        task = bar.add_task("Synchronising files", total=None)
        working = asyncio.ensure_future(_work(user_id, services))
        try:
            async for state in job_states.follow(job_id, user_id, db=services.db):
                if working.done():
                    working.result()
                if state is not None:
                    bar.update(task, completed=state.progress.get("done", 0), total=state.progress.get("total"))
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
    await extraction.finish(user_id, services)
    return await job_states.get(job_id, user_id, db=services.db)


async def _work(user_id: str, services: Services) -> None:
    """Run the user's jobs until cancelled; those that fail are repeated or show why."""
    while True:
        try:
            ran = await workers.run_next(services, kinds.ALL, user_id=user_id)
        except errors.StepwellError:
            ran = None
        if ran is None:
            await asyncio.sleep(WAIT_S)


def _show(state: JobState) -> None:
    if state.status != "done":
        options.err.print(f"[red]The job is {state.status}[/]: {state.error or 'cancelled'}.")
        return
    result = state.result
    options.out.print(", ".join(f"{result[name]} {name}" for name in COUNTS) + f"; {result['embedded']} embedded.")
    left_out.show(result.get("left_out", {}))
    for failure in result.get("failures", ()):
        options.err.print(f"[red]failed[/] {escape(failure['path'])}: {escape(failure['reason'])}", soft_wrap=True)


def _exit(state: JobState) -> None:
    if state.status != "done" or state.result.get("failed"):
        raise typer.Exit(1)
