"""Defines the options, tables and checks that several commands share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app import config, telemetry
from app.config import Settings
from app.errors import BadRequest, StepwellError


class Mode(StrEnum):
    """Legs to run."""

    auto = "auto"
    hybrid = "hybrid"
    semantic = "semantic"
    lexical = "lexical"


class Rerank(StrEnum):
    """Rerankers of the top hits."""

    none = "none"
    cosine = "cosine"
    provider = "provider"


Legs = Annotated[Mode, typer.Option("--mode", help="Legs to run.")]
Reranking = Annotated[
    Rerank, typer.Option("--rerank", help="Rerank the top hits by cosine similarity or by the configured provider.")
]
Mmr = Annotated[bool, typer.Option("--mmr/--no-mmr", help="Diversify the top hits by maximal marginal relevance.")]
Collapse = Annotated[
    bool, typer.Option("--collapse/--no-collapse", help="Show one of several passages with nearly the same text.")
]
Hierarchy = Annotated[bool, typer.Option("--hierarchy/--no-hierarchy", help="Use the entities that the query names.")]
HierarchyAlpha = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Weight of a passage's own score against the score of its entity."),
]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Data folder of the embedded Postgres.", show_default="per user")
]
User = Annotated[str, typer.Option("--user", help="The user who owns the documents.")]
Snippets = Annotated[
    bool, typer.Option("--snippets", help="Show the sentences of each passage that match best, not its beginning.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LOCAL = "local"
PADDING, NARROWEST = 3, 12
"""Characters that a table's column takes beside its values, and the narrowest column whose values may wrap."""
Result = TypeVar("Result")

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def settings(data_dir: Path | None = None, **overrides: Any) -> Settings:
    """The settings of a command, with warnings about unknown variables; logs only errors, unless the level is debug."""
    chosen = config.load(data_dir=data_dir, **overrides)
    telemetry.configure("debug" if chosen.log_level == "debug" else "error", chosen.log_json)
    for warning in config.unknown_variables():
        err.print(f"[yellow]Warning:[/] {escape(warning)}", soft_wrap=True)
    return chosen


def run(work: Coroutine[Any, Any, Result], *, loop: Callable[[], asyncio.AbstractEventLoop] | None = None) -> Result:
    """Runs a coroutine on an event loop made by `loop`; Ctrl-C ends the command with status 130."""
    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(work)
    except KeyboardInterrupt:
        err.print("Interrupted.")
        raise typer.Exit(130) from None


def checked_user(user: str) -> str:
    """Returns a valid user name unchanged. Raises BadRequest for an invalid one."""
    from app.pipelines.maintenance import keys

    keys.check_user(user)
    return user


def checked_query(query: str) -> str:
    """Returns a query of at most MAX_QUERY characters unchanged. Raises BadRequest for a longer one."""
    from app.shapes import limits
    from app.text.queries import analysis

    if analysis.length(query) > limits.MAX_QUERY:
        raise BadRequest(
            f"The query has more than {limits.MAX_QUERY:,} characters, with its ligatures written out.", field="query"
        )
    return query


def absolute_path(named: str) -> str:
    """The absolute path of a file that is named as in a shell: relative to the working folder, or with `~`."""
    return os.path.abspath(os.path.expanduser(named))


def check_rerank(rerank: Rerank, chosen: Settings) -> None:
    """Raises BadRequest where reranking by a provider is requested and none is configured."""
    if rerank == Rerank.provider and chosen.reranker == "cosine":
        raise BadRequest("No reranker is configured: set STEPWELL_RERANKER to cohere, jina or tei.", field="rerank")


def unused_llm_key(chosen: Settings) -> tuple[str, str] | None:
    """What a key of a language model without STEPWELL_LLM means, and what would use it; None if there is none."""
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
        made.add_column(name, overflow="fold", no_wrap=name in ids)
    return made


def print_table(filled: Table) -> None:
    """Prints a table, wider than the terminal where its ids would not fit otherwise."""
    needed = sum(
        PADDING + (max(map(cell_len, map(str, column.cells)), default=0) if column.no_wrap else NARROWEST)
        for column in filled.columns
    )
    if needed + 1 > out.width:
        filled.width = needed + 1
    out.print(filled, crop=False)


def status(error: StepwellError) -> int:
    """The exit status of a command that fails with `error`: 2 for wrong input, else 1."""
    return 2 if error.status < 500 else 1
