"""Defines the command line `stepwell` and reports its errors.

The module of a command is imported when that command runs: `--version`, `--help` and a mistyped command then need
neither the database driver nor the model's runtime, which take seconds to import.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from app import __version__, errors


class LazyCommand(NamedTuple):
    """Where a command is defined (`folder.module:attribute` in app.cli) and its line in `--help`."""

    place: str
    summary: str
    takes_query: bool = False
    is_hidden: bool = False


class Failure(NamedTuple):
    """Why a command failed: a stable code, a sentence, and the option, argument, field or variable that is wrong."""

    code: str
    detail: str
    field: str | None = None


COMMANDS = {
    "serve": LazyCommand("serving.serve:serve", "Run the service until it is stopped."),
    "serve-process": LazyCommand("serving.serve:serve_process", "Run one process of the service.", is_hidden=True),
    "demo": LazyCommand("serving.demo:demo", "Ingest sample notes, run three searches and start the service."),
    "ingest": LazyCommand("documents.ingest:ingest", "Add files and folders."),
    "formats": LazyCommand("documents.formats:formats", "List the formats of files that are read."),
    "search": LazyCommand("search.search:search", "Search the documents.", takes_query=True),
    "why": LazyCommand("search.why:why", "Explain why a passage is not in an answer.", takes_query=True),
    "multihop": LazyCommand(
        "search.multihop:multihop", "Search over several hops and show how each hit was reached.", takes_query=True
    ),
    "eval": LazyCommand("search.evaluate:evaluate", "Measure retrieval quality on an evaluation set."),
    "calibrate": LazyCommand(
        "search.calibrate:calibrate", "Fit the relevance of hits to judged questions on your own documents."
    ),
    "feedback": LazyCommand("search.feedback:app", "Judge hits, and list and export what was said of them."),
    "synonyms": LazyCommand("search.synonyms:app", "List, replace and remove words that mean the same."),
    "doctor": LazyCommand("maintenance.doctor:doctor", "Check the database, the model and the settings."),
    "backup": LazyCommand("maintenance.backup:backup", "Write the whole database to a file."),
    "restore": LazyCommand("maintenance.backup:restore", "Load a backup."),
    "repair": LazyCommand(
        "maintenance.repair:repair", "Compare derived rows with the stored texts and rebuild those that differ."
    ),
    "reindex": LazyCommand("maintenance.reindex:reindex", "Cut documents again that were cut with other options."),
    "reembed": LazyCommand("maintenance.reembed:reembed", "Replace the embedding model while the service answers."),
    "audit": LazyCommand("maintenance.audit:audit", "Show deletions, key management and the use of keys."),
    "mcp": LazyCommand("mcp.mcp:mcp", "Serve the tools for agents over MCP on stdin and stdout."),
    "openapi": LazyCommand("openapi:openapi", "Print the OpenAPI document."),
    "db": LazyCommand("maintenance.database:app", "Upgrade, check and show the database schema."),
    "keys": LazyCommand("maintenance.keys:app", "Create, list, rotate and revoke API keys."),
    "users": LazyCommand("maintenance.users:app", "List, export and delete users."),
    "stats": LazyCommand("documents.stats:stats", "Print numbers of what is stored."),
    "facets": LazyCommand("documents.facets:facets", "List keys and values of metadata."),
    "documents": LazyCommand("documents.documents:app", "List, show and delete documents."),
    "sources": LazyCommand("documents.sources:app", "Keep documents in step with folders: add, list, sync, remove."),
    "jobs": LazyCommand("documents.jobs:app", "List, show and cancel background jobs."),
    "worker": LazyCommand("serving.worker:worker", "Run background jobs in a process of their own."),
    "entities": LazyCommand("documents.entities:app", "Import, list and show entities."),
}


class QueryCommand(TyperCommand):
    """A command with a query argument; the error for an unknown option shows how to send a query that begins with -."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses as usual. Raises TyperException, with the hint where no option is similar to an unknown one."""
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            if getattr(error, "possibilities", ("none",)):
                raise
            error.message += f". A query that begins with - follows --: {ctx.command_path} -- '-word'"
            raise


class LazyGroup(TyperGroup):
    """Lists COMMANDS without importing them, and imports the one that runs."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, command in COMMANDS.items():
            self.add_command(TyperCommand(name, help=command.summary, hidden=command.is_hidden))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command's name, the imported command and its arguments."""
        name, _listed, rest = super().resolve_command(ctx, args)
        return name, _imported(str(name)), rest


app = typer.Typer(
    cls=LazyGroup,
    name="stepwell",
    help="Hybrid search over your documents: one service, one Postgres.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Show the version and exit.", is_eager=True)) -> None:
    if version:
        typer.echo(f"stepwell {__version__}")
        raise typer.Exit


def main() -> None:
    """Runs the command line."""
    run(app)


def run(commands: typer.Typer) -> None:
    """Runs a command line; an error is one sentence on stderr, or with --json an object on stdout, and a status."""
    as_json = "--json" in _options(sys.argv[1:])
    try:
        # With --json mistakes in the arguments are raised, which are otherwise printed with the usage of the command.
        status = commands(standalone_mode=not as_json)
        sys.exit(status if isinstance(status, int) else 0)
    except KeyboardInterrupt:
        _end(130, [Failure("interrupted", "Interrupted.")], as_json=as_json)
    except typer.Abort:
        _end(1, [Failure("aborted", "Aborted.")], as_json=as_json)
    except errors.StepwellError as error:
        from app.cli import options

        _end(options.status(error), [Failure(error.code, error.message, error.field)], as_json=as_json)
    except Exception as error:
        if (failures := _failures(error) or _of_database(error)) is None:
            raise
        _end(2, failures, as_json=as_json)


def _options(arguments: list[str]) -> list[str]:
    """The arguments before `--`, after which nothing is an option."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _failures(error: Exception) -> list[Failure] | None:
    """What is wrong with arguments or settings; None for other errors."""
    if isinstance(error, typer.TyperException):
        return [Failure("usage", error.format_message())]
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return None
    found = error.errors(include_url=False, include_input=False)
    return [Failure("invalid_settings", one["msg"], _variable(one["loc"])) for one in found]


def _of_database(error: Exception) -> list[Failure] | None:
    """What the database refused; None for other errors."""
    if type(error).__module__.partition(".")[0] not in ("sqlalchemy", "asyncpg"):
        return None
    from app.store.connection import driver_errors

    found = driver_errors.explained(error)
    return [Failure(found.code, found.message, found.field)] if isinstance(found, errors.StepwellError) else None


def _variable(place: tuple[int | str, ...]) -> str:
    return (".".join(map(str, place)) or "settings").upper()


def _end(status: int, failures: list[Failure], *, as_json: bool) -> NoReturn:
    """Prints why a command failed, and ends it."""
    first = failures[0]
    if as_json:
        from app.cli import terminal

        detail = " ".join(one.detail for one in failures)
        terminal.write_json({"error": {"code": first.code, "detail": detail, "field": first.field}})
    elif first.code == "interrupted":
        typer.echo(first.detail, err=True)
    else:
        for one in failures:
            _print_error(one)
    sys.exit(status)


def _imported(name: str) -> Any:
    command = COMMANDS[name]
    module, _, attribute = command.place.partition(":")
    found = getattr(importlib.import_module(f"app.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        return typer.main.get_group(found)
    alone = typer.Typer(add_completion=False)
    alone.command(name, cls=QueryCommand if command.takes_query else None)(found)
    return typer.main.get_command(alone)


def _print_error(failure: Failure) -> None:
    from rich.markup import escape

    from app.cli import terminal

    named = f"{failure.field}: {failure.detail}" if failure.code == "invalid_settings" else failure.detail
    field = f" ({failure.field})" if failure.field and failure.code != "invalid_settings" else ""
    terminal.console(stderr=True).print(f"[red]Error:[/] {escape(named + field)}")
