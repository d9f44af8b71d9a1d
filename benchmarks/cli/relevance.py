"""Implements `relevance`: fits and cross-validates the coefficients of relevance on evaluation sets."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app import runtime
from app.cli import options, terminal
from app.settings import Settings
from benchmarks import folders
from benchmarks import relevance as fitting
from benchmarks.relevance import Fit, Row


def relevance(
    found: Annotated[Path, typer.Argument(help="A file of what was found; sets are appended to it.")],
    sets: Annotated[
        list[Path] | None, typer.Argument(metavar="FOLDER…", help="Evaluation sets in BEIR layout to ask first.")
    ] = None,
    beside: Annotated[
        list[Path] | None, typer.Option("--beside", help="What was found with another model; repeatable.")
    ] = None,
    models: Annotated[bool, typer.Option("--leave-out-models", help="Leave out a set and its model.")] = False,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Fit the coefficients of relevance on all sets but one and measure them on that one, for each set."""
    if sets:
        with folders.data_dir(data_dir) as chosen:
            options.run(_collect(sets, options.settings(chosen), found))
    samples = fitting.load([found, *(beside or ())])
    terminal.out.print(_figures(fitting.leave_out(samples, models=models)))
    terminal.out.print(_coefficients(fitting.fit(samples)))


async def _collect(sets: list[Path], settings: Settings, file: Path) -> None:
    async with runtime.open_services(settings) as services:
        await fitting.collect(sets, services, file)


def _figures(rows: Iterable[Row]) -> Table:
    table = Table("model", "set", "mode", "of", "number", "base rate", "Brier", "of the base rate", "ECE", "AUROC")
    for row in rows:
        for name, one in row.figures.items():
            values = [f"{value:.3f}" for value in (one.base_rate, one.brier, one.base_brier, one.ece)]
            auroc = "–" if one.auroc is None else f"{one.auroc:.2f}"
            table.add_row(row.model, row.name, row.mode, name, f"{one.count}", *values, auroc)
    return table


def _coefficients(fitted: Fit) -> Table:
    table = Table("coefficients", "intercept, then those of the values")
    named = {**fitted.queries, "hit": fitted.hits[False], "hit over several hops": fitted.hits[True]}
    for name, values in named.items():
        table.add_row(name, ", ".join(f"{value:.2f}" for value in values))
    return table
