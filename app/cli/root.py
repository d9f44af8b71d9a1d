"""Defines the command line `stepwell` and reports its errors."""

from __future__ import annotations

import sys

import pydantic
import typer
from rich.console import Console
from rich.markup import escape

from app import __version__, errors
from app.cli import (
    audit,
    backup,
    database,
    demo,
    doctor,
    entities,
    evaluate,
    ingest,
    keys,
    multihop,
    openapi,
    options,
    repair,
    search,
    serve,
    users,
)

app = typer.Typer(
    name="stepwell",
    help="Hybrid search over your documents: one process, one Postgres.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("serve")(serve.serve)
app.command("demo")(demo.demo)
app.command("ingest")(ingest.ingest)
app.command("search")(search.search)
app.command("multihop")(multihop.multihop)
app.command("eval")(evaluate.evaluate)
app.command("doctor")(doctor.doctor)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("repair")(repair.repair)
app.command("audit")(audit.audit)
app.command("openapi")(openapi.openapi)
app.add_typer(database.app, name="db")
app.add_typer(keys.app, name="keys")
app.add_typer(users.app, name="users")
app.add_typer(entities.app, name="entities")


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Show the version and leave.", is_eager=True)) -> None:
    if version:
        typer.echo(f"stepwell {__version__}")
        raise typer.Exit


def main() -> None:
    """Runs the command line."""
    run(app)


def run(commands: typer.Typer) -> None:
    """Runs a command line; prints an error as one sentence on stderr, with an exit status and without a traceback."""
    stderr = Console(stderr=True, highlight=False)
    try:
        commands()
    except errors.StepwellError as error:
        field = f" ({error.field})" if error.field else ""
        stderr.print(f"[red]Error:[/] {escape(error.message)}{escape(field)}")
        sys.exit(options.status(error))
    except pydantic.ValidationError as error:
        for found in error.errors(include_url=False, include_input=False):
            name = ".".join(map(str, found["loc"])) or "settings"
            stderr.print(f"[red]Error:[/] {escape(name.upper())}: {escape(found['msg'])}")
        sys.exit(2)
