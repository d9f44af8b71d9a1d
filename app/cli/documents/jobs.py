"""Implements `stepwell jobs`: lists, shows and cancels background jobs."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape

from app.api.jobs.job_models import StoredJob
from app.cli import options
from app.cli.maintenance import owning
from app.pipelines.jobs import followed_jobs as pipeline
from app.shapes import JobState
from app.store.connection.transactions import Database

app = typer.Typer(help="Background jobs: list, show, cancel.", no_args_is_help=True)


def _key(text: str) -> pipeline.JobKey:
    try:
        return "newest" if text == "newest" else UUID(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither the id of a job nor newest.") from None


JobKey = Annotated[
    Any, typer.Argument(metavar="JOB_ID", parser=_key, help="A job's id, or newest: the newest that can be cancelled.")
]


@app.command("list")
def listed(
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of jobs.")] = 50,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """List jobs, newest first."""
    user_id = options.checked_user(user)
    found = owning.run_as_service(data_dir, lambda db: pipeline.page(user_id, db=db, limit=limit))
    if as_json:
        typer.echo(json.dumps([StoredJob.of(job).model_dump(mode="json") for job in found]))
        return
    table = options.table("job_id", "kind", "status", "progress", "created", ids=("job_id",))
    for job in found:
        created = job.created_at.strftime("%Y-%m-%d %H:%M")
        table.add_row(str(job.job_id), job.kind, job.status, escape(_progress(job)), created)
    options.print_table(table)


@app.command()
def show(
    job_id: JobKey,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Show a job with its progress and result."""
    _show(owning.run_as_service(data_dir, partial(_get, job_id, options.checked_user(user))), as_json=as_json)


@app.command()
def cancel(
    job_id: JobKey,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Cancel a job that waits or runs."""
    job = owning.run_as_service(data_dir, partial(_cancel, job_id, options.checked_user(user)))
    if job.status != "cancelled":
        options.err.print(f"The job has ended: its status is {job.status}.")
    _show(job, as_json=as_json)


async def _get(key: pipeline.JobKey, user_id: str, db: Database) -> JobState:
    return await pipeline.get(await pipeline.find(key, user_id, db=db), user_id, db=db)


async def _cancel(key: pipeline.JobKey, user_id: str, db: Database) -> JobState:
    return await pipeline.cancel(await pipeline.find(key, user_id, db=db), user_id, db=db)


def _show(job: JobState, *, as_json: bool) -> None:
    shown = StoredJob.of(job)
    if as_json:
        typer.echo(shown.model_dump_json())
        return
    for name, value in shown.model_dump(mode="json", exclude={"progress"}).items():
        options.out.print(f"[bold]{name}[/]: {escape(str(value))}", soft_wrap=True)
    options.out.print(f"[bold]progress[/]: {escape(_progress(job))}")


def _progress(job: JobState) -> str:
    done, total, unit = (job.progress.get(name) for name in ("done", "total", "unit"))
    counted = "" if done is None else f"{done}/{total} {unit}"
    return " ".join(part for part in (job.progress.get("step", ""), counted) if part)
