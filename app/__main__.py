"""Defines the command line `stepwell` and reports its errors.

The module of a command is imported when that command runs: `--version`, `--help` and a mistyped command then need
neither the database driver nor the model's runtime, which take seconds to import.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from typing import Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from app import __version__, capability, capability_registry, errors


class Failure(NamedTuple):
    """Why a command failed: a stable code, a sentence, and the option, argument, field or variable that is wrong."""

    code: str
    detail: str
    field: str | None = None


capability_registry.register()


class LazyGroup(TyperGroup):
    """Lists the commands without importing them, and imports the one that runs."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, command in capability.commands().items():
            listed = TyperCommand(
                name, help=command.summary, hidden=command.is_hidden, rich_help_panel=command.group.capitalize()
            )
            self.add_command(listed)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command's name, the imported command and its arguments."""
        name, _listed, rest = super().resolve_command(ctx, args)
        return name, _import(str(name)), rest


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
    """Runs the command line. What a terminal's encoding lacks is printed as an escape, such as \\u203a."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    # SIGTERM then ends a command as Ctrl-C does: it removes its unfinished files and stops the embedded Postgres.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # a closed terminal does the same, but not under nohup
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    run(app)


def run(commands: typer.Typer) -> None:
    """Runs a command line; an error is one sentence on stderr, or with --json an object on stdout, and a status."""
    arguments = sys.argv[1:]
    # Nothing after `--` is an option.
    as_json = "--json" in (arguments[: arguments.index("--")] if "--" in arguments else arguments)
    try:
        status = commands(standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except KeyboardInterrupt:
        _end(130, [Failure("interrupted", "Interrupted.")], as_json=as_json)
    except typer.Abort:
        _end(1, [Failure("aborted", "Aborted.")], as_json=as_json)
    except errors.StepwellError as error:
        from app.cli import options

        _end(options.status(error), [Failure(error.code, error.message, error.field)], as_json=as_json)
    except typer.TyperException as error:
        _advise(error)
        if as_json:
            _end(2, [Failure("usage", error.format_message())], as_json=True)
        from typer import rich_utils

        rich_utils.rich_format_error(error)  # type: ignore[arg-type]  # an exception of typer's copy of click
        sys.exit(2)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        # The rest of the output would fail again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        _end(1, [Failure("disk_full", f"{error.strerror}: make room, then repeat the command.")], as_json=False)
    except Exception as error:
        if (explained := _explain(error)) is None:
            raise
        _end(*explained, as_json=as_json)


def _advise(error: Any) -> None:
    """Completes the message of an error: an unknown option is followed by the one that is meant."""
    error.message = error.message.removeprefix("Value error, ")  # pydantic's words before Typer's
    if not hasattr(error, "possibilities") or error.ctx is None:
        return
    from app.requests import field_suggestions

    known = {str(one.name): one.opts[0] for one in error.ctx.command.params if one.opts[0].startswith("--")}
    meant = field_suggestions.advice(error.option_name.lstrip("-"), known).get("nearest")
    if meant is not None:
        error.possibilities = None
        error.message += f". Did you mean {meant}?"
    elif (listed := capability.commands().get(str(error.ctx.info_name))) and listed.takes_query:
        error.possibilities = None
        error.message += f". A query that begins with - follows --: {error.ctx.command_path} -- '-word'"


def _explain(error: Exception) -> tuple[int, list[Failure]] | None:
    """The exit status, and what is wrong with settings or what the database refused; None for other errors."""
    from pydantic import ValidationError

    from app import settings

    if isinstance(error, ValidationError):
        wrong = settings.wrong_variables(error)
        return 2, [Failure("invalid_settings", reason, variable) for variable, reason in wrong]
    if type(error).__module__.partition(".")[0] not in ("sqlalchemy", "asyncpg"):
        return None
    from app.cli import options
    from app.database import driver_errors

    found = driver_errors.explain(error)
    if not isinstance(found, errors.StepwellError):
        return None
    return options.status(found), [Failure(found.code, found.message, found.field)]


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


def _import(name: str) -> Any:
    command = capability.commands()[name]
    found = capability.load(command.place)
    if isinstance(found, typer.Typer):
        return typer.main.get_group(found)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(found)
    return typer.main.get_command(alone)


def _print_error(failure: Failure) -> None:
    from rich.markup import escape

    from app.cli import terminal

    named = f"{failure.field}: {failure.detail}" if failure.code == "invalid_settings" else failure.detail
    field = f" ({failure.field})" if failure.field and failure.code != "invalid_settings" else ""
    terminal.console(stderr=True).print(f"[red]Error:[/] {escape(named + field)}")


if __name__ == "__main__":
    main()
