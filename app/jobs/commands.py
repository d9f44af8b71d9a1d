"""Implements `stepwell jobs`: lists, shows and cancels background jobs."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape

from app.cli import client_options, options, terminal
from app.cli.client import Answer, Client

app = typer.Typer(help="Background jobs: list, show, cancel.", no_args_is_help=True)


JobId = Annotated[UUID, typer.Argument(metavar="JOB_ID", help="A job's id.")]


@app.command("list")
@client_options.connect
def list_jobs(
    client: Client,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of jobs.")] = 50,
    as_json: options.AsJson = False,
) -> None:
    """List jobs, newest first."""
    found = client.list("/jobs", "jobs", limit=limit)
    terminal.end_with_json(found, wanted=as_json)
    table = terminal.table("job", "status", "progress", "created", ids=("job",))
    for job in found:
        shown = terminal.cell(job["kind"], identity=job["job_id"])
        table.add_row(shown, job["status"], _progress(job), terminal.moment(job["created_at"]))
    terminal.print_table(table)


@app.command()
@client_options.connect
def show(client: Client, job_id: JobId, as_json: options.AsJson = False) -> None:
    """Show a job with its progress and result."""
    _show(client.get(f"/jobs/{job_id}"), as_json=as_json)


@app.command()
@client_options.connect
def cancel(client: Client, job_id: JobId, as_json: options.AsJson = False) -> None:
    """Cancel a job that waits or runs."""
    job = client.post(f"/jobs/{job_id}/cancel")
    if job["status"] != "cancelled":
        terminal.err.print(f"The job has ended: its status is {job['status']}.")
    _show(job, as_json=as_json)


def _show(job: Answer, *, as_json: bool) -> None:
    terminal.end_with_json(job, wanted=as_json)
    for name, value in job.items():
        if name != "progress":
            terminal.out.print(f"[bold]{name}[/]: {escape(str(value))}", soft_wrap=True)
    terminal.out.print(f"[bold]progress[/]: {escape(_progress(job))}")


def _progress(job: Answer) -> str:
    done, total, unit = (job["progress"].get(name) for name in ("done", "total", "unit"))
    counted = "" if done is None else f"{done}/{total} {unit}"
    return " ".join(part for part in (job["progress"].get("step"), counted) if part)
