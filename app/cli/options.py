"""Defines the options that several commands share, checks arguments, and runs the work on an event loop."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from rich.markup import escape

from app.cli import terminal
from app.errors import BadRequest, StepwellError

if TYPE_CHECKING:  # a command by way of a service needs neither settings nor an event loop
    import asyncio

    from app.settings import Settings


Mode = Annotated[Literal["auto", "hybrid", "semantic", "lexical"], typer.Option("--mode", help="Legs to run.")]
Rerank = Annotated[
    Literal["none", "cosine", "provider"],
    typer.Option("--rerank", help="Rerank the top hits by cosine similarity or by the configured provider."),
]
Mmr = Annotated[bool, typer.Option("--mmr/--no-mmr", help="Diversify the top hits by maximal marginal relevance.")]
Collapse = Annotated[
    bool,
    typer.Option(
        "--collapse/--no-collapse", help="Show only the best one of several passages with nearly the same text."
    ),
]
Hierarchy = Annotated[bool, typer.Option("--hierarchy/--no-hierarchy", help="Use the entities that the query names.")]


def read_path(text: str) -> Path:
    """The path that an argument names. Raises BadRequest for an empty one, which would be the working folder."""
    if not text:
        raise BadRequest("A path has a name: give . for the working folder.", field="path")
    return Path(text)


DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Data folder of the embedded Postgres.", show_default="per user", parser=read_path),
]
User = Annotated[str, typer.Option("--user", help="The user who owns the documents.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LOCAL = "local"
USAGE = frozenset({400, 413, 422})
"""Statuses of errors in the input of a command. All other statuses mean that the command could not be carried out."""
INTERRUPTED = 130
"""The exit status after Ctrl-C."""
Result = TypeVar("Result")


class Interrupted(StepwellError):
    """Ctrl-C has ended a command; `state` says what it has done. Typer ends on KeyboardInterrupt without a word."""

    code = "interrupted"

    def __init__(self, state: str = "") -> None:
        super().__init__(f"Interrupted. {state}".rstrip())


def settings(data_dir: Path | None = None, **overrides: Any) -> Settings:
    """Load the settings of a command, and warn of unknown variables. Unless the level is debug, log errors only."""
    from app import logging_setup
    from app import settings as config

    chosen = config.load(data_dir=data_dir, **overrides)
    logging_setup.configure("debug" if chosen.log_level == "debug" else "error", chosen.log_json)
    for warning in config.unknown_variables():
        terminal.err.print(f"[yellow]Warning:[/] {escape(warning)}", soft_wrap=True)
    return chosen


def run(work: Coroutine[Any, Any, Result], *, loop: Callable[[], asyncio.AbstractEventLoop] | None = None) -> Result:
    """Runs a coroutine on an event loop made by `loop`; Ctrl-C ends the command with status 130."""
    import asyncio

    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            if threading.current_thread() is threading.main_thread():
                # With any handler the loop has a descriptor for signals. Without it, Ctrl-C just before a wait is lost.
                runner.get_loop().add_signal_handler(signal.SIGCONT, int)
            return runner.run(work)
    except KeyboardInterrupt:
        raise Interrupted from None


def check_user(user: str) -> str:
    """Returns a valid user name unchanged. Raises BadRequest for an invalid one."""
    from app.requests import field_types

    field_types.check_user(user)
    return user


def absolute_path(named: str) -> str:
    """The absolute path of a file that is named as in a shell: relative to the working folder, or with `~`."""
    return os.path.abspath(os.path.expanduser(named))


def status(error: StepwellError) -> int:
    """The exit status of a command that fails with `error`: 2 for wrong input, 130 after Ctrl-C, else 1."""
    if isinstance(error, Interrupted):
        return INTERRUPTED
    return 2 if error.status in USAGE else 1
