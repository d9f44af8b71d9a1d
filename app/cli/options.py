"""Defines the options, tables and checks that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

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
Extractor = Annotated[
    Literal["auto", "llm", "entities", "statistical", "none"],
    typer.Option(help="Source of the terms for a further hop."),
]
Merge = Annotated[Literal["linked", "classic"], typer.Option(help="Strategy for merging the hits of several hops.")]
Mmr = Annotated[bool, typer.Option("--mmr/--no-mmr", help="Diversify the top hits by maximal marginal relevance.")]
Collapse = Annotated[
    bool,
    typer.Option(
        "--collapse/--no-collapse", help="Show only the best one of several passages with nearly the same text."
    ),
]
Hierarchy = Annotated[bool, typer.Option("--hierarchy/--no-hierarchy", help="Use the entities that the query names.")]
HierarchyAlpha = Annotated[
    float | None, typer.Option(min=0, max=1, help="Weight of a passage's own score against the score of its entity.")
]


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
"""Statuses of errors in what a command was given; all others say that it could not be done."""
PADDING, NARROWEST = 3, 12
"""Characters that a table's column takes beside its values, and the narrowest column whose values may wrap."""
Result = TypeVar("Result")

out, err = terminal.console(), terminal.console(stderr=True)


def settings(data_dir: Path | None = None, **overrides: Any) -> Settings:
    """The settings of a command, with warnings about unknown variables; logs only errors, unless the level is debug."""
    from app import logging_setup
    from app import settings as config

    chosen = config.load(data_dir=data_dir, **overrides)
    logging_setup.configure("debug" if chosen.log_level == "debug" else "error", chosen.log_json)
    for warning in config.unknown_variables():
        err.print(f"[yellow]Warning:[/] {escape(warning)}", soft_wrap=True)
    return chosen


def run(work: Coroutine[Any, Any, Result], *, loop: Callable[[], asyncio.AbstractEventLoop] | None = None) -> Result:
    """Runs a coroutine on an event loop made by `loop`; Ctrl-C ends the command with status 130."""
    import asyncio

    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(work)
    except KeyboardInterrupt:
        raise report_interrupt() from None


def report_interrupt(state: str = "") -> typer.Exit:
    """Says that the command was interrupted, and what it has done; returns what ends it with status 130."""
    err.print(f"Interrupted. {state}".rstrip(), soft_wrap=True)
    return typer.Exit(130)


def check_user(user: str) -> str:
    """Returns a valid user name unchanged. Raises BadRequest for an invalid one."""
    from app.requests import field_types

    field_types.check_user(user)
    return user


def check_target(path: Path | None, *, option: str) -> None:
    """Raises BadRequest if a file cannot be written. Call it before the work whose result goes into the file."""
    if path is None:
        return
    folder = path.absolute().parent
    if path.is_dir():
        raise BadRequest("This is a folder: name a file in it.", field=option)
    if not folder.is_dir():
        raise BadRequest("The folder of this file does not exist.", field=option)
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise BadRequest("This file may not be written.", field=option)


def write_text(path: Path, text: str, *, option: str) -> None:
    """Writes the file that an option names. Raises BadRequest."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadRequest(f"The file cannot be written: {error.strerror}.", field=option) from error


def absolute_path(named: str) -> str:
    """The absolute path of a file that is named as in a shell: relative to the working folder, or with `~`."""
    return os.path.abspath(os.path.expanduser(named))


def unused_llm_key(chosen: Settings) -> tuple[str, str] | None:
    """Says that a language model's key is set but not used, and which setting would use it; None if none is set."""
    if chosen.llm != "none":
        return None
    if chosen.gemini_api_key and chosen.embedder != "gemini":
        variable, value = "GEMINI_API_KEY", "gemini"
    elif chosen.llm_api_key:
        variable, value = "STEPWELL_LLM_API_KEY", "gemini or STEPWELL_LLM=openai"
    else:
        return None
    return (
        f"{variable} is set and no language model is used: nothing is sent to one",
        f"STEPWELL_LLM={value} lets it read questions and passages of searches over several hops.",
    )


def table(*columns: str, ids: Collection[str] = ()) -> Table:
    """A table that shows every value in full: ids on one line each, other values on as many lines as they need."""
    made = Table()
    for name in columns:
        made.add_column(name, overflow="fold", min_width=1 if name in ids else None)
    return made


def cell(*lines: str | None, identity: object = None) -> Text:
    """Lines of a value in a table: the first plain, further ones dim, and an id, which stays whole, as the last."""
    shown = Text(next(iter(lines), None) or "")
    for line in (*lines[1:], None if identity is None else str(identity)):
        if line:
            shown.append(f"\n{line}" if shown.plain else line, style="dim")
    return shown


def format_count(number: int, noun: str) -> str:
    """A number with its noun, in the singular for one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def moment(at: str | None) -> str:
    """A time of the API as a date and a time of day below it."""
    return "" if at is None else at[:16].replace("T", "\n")


def print_table(filled: Table, *, empty: str = "None found.") -> None:
    """Prints a table, or `empty` if it has no rows. It is wider than the terminal only if its ids would not fit."""
    if not filled.row_count:
        out.print(empty, soft_wrap=True, markup=False)
        return
    for column in filled.columns:
        if column.min_width is not None:
            column.min_width = max((cell_len(_last_line(one)) for one in column.cells), default=1)
    widths = [column.min_width or min(NARROWEST, _natural(column)) for column in filled.columns]
    needed = sum(widths) + PADDING * len(widths) + 1
    if needed > out.width:
        filled.width = needed
    out.print(filled, crop=False)


def _last_line(cell: object) -> str:
    """The last line of a cell, on which an id stands."""
    return (cell.plain if isinstance(cell, Text) else str(cell)).rpartition("\n")[2]


def _natural(column: Column) -> int:
    """The width that a column has where there is room."""
    shown = [cell.plain if isinstance(cell, Text) else str(cell) for cell in (column.header, *column.cells)]
    return max((cell_len(line) for one in shown for line in one.splitlines()), default=0)


def status(error: StepwellError) -> int:
    """The exit status of a command that fails with `error`: 2 for wrong input, else 1."""
    return 2 if error.status in USAGE else 1
