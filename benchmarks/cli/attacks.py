"""Implements `attacks`: measures the effect of attacks on a running service, at this revision and an earlier one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app import errors
from app.cli import options, terminal
from benchmarks.attacks import attacks as story
from benchmarks.service import ROOT


def attacks(
    before: Annotated[
        str | None, typer.Option(help="A Git revision to compare with.", metavar="REV", show_default="none")
    ] = None,
    python: Annotated[
        Path | None, typer.Option(help="Interpreter with the dependencies of that revision.", show_default="this one")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Names of attacks, separated by commas.", show_default="all")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table to this file as Markdown.")] = None,
) -> None:
    """Attack a service started from this checkout, and from an earlier revision, and print the measured effects."""
    names = list(story.ATTACKS) if only is None else [name.strip() for name in only.split(",")]
    if unknown := [name for name in names if name not in story.ATTACKS]:
        raise errors.BadRequest(f"Unknown: {', '.join(unknown)}. Attacks: {', '.join(story.ATTACKS)}.", field="only")
    earlier: dict[str, str] = {}
    if before is not None:
        with story.worktree(before) as checkout:
            terminal.err.print(f"Revision {before}")
            interpreter = str(python.absolute()) if python else sys.executable
            earlier = options.run(story.run(checkout, names, terminal.err.print, python=interpreter))
    terminal.err.print("This checkout")
    now = options.run(story.run(ROOT, names, terminal.err.print))
    if markdown is not None:
        markdown.write_text(story.markdown(earlier, now), encoding="utf-8")
    table = Table("attack", "before", "after", show_lines=True)
    for name, result in now.items():
        table.add_row(story.ATTACKS[name][0], earlier.get(name, "n/a"), result)
    terminal.out.print(table)
