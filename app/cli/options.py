"""What do the commands have in common?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from app import config, telemetry
from app.config import Settings
from app.errors import StepwellError
from app.pipelines import keys

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Where the embedded Postgres keeps its data.", show_default="per user")
]
User = Annotated[str, typer.Option("--user", help="Whose documents.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
LOCAL = "local"
Result = TypeVar("Result")

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


class Rerank(StrEnum):
    """Who scores the best once more."""

    none = "none"
    cosine = "cosine"
    provider = "provider"


def settings(data_dir: Path | None = None, **overrides: Any) -> Settings:
    """The settings of this run; quiet logs, since a command talks to a person."""
    chosen = config.load(data_dir=data_dir, **overrides)
    telemetry.configure("debug" if chosen.log_level == "debug" else "error", chosen.log_json)
    return chosen


def run(story: Coroutine[Any, Any, Result], *, loop: Callable[[], asyncio.AbstractEventLoop] | None = None) -> Result:
    """Run a story to its end, on a loop of the kind given; Ctrl-C leaves with a word and status 130."""
    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(story)
    except KeyboardInterrupt:
        err.print("Interrupted.")
        raise typer.Exit(130) from None


def checked_user(user: str) -> str:
    """The user's name, if it can be one. Raises BadRequest."""
    keys.check_user(user)
    return user


def status(error: StepwellError) -> int:
    """The exit status of a command that fails with `error`: 2 for wrong input, else 1."""
    return 2 if error.status < 500 else 1
