"""Implements `relevance`: fits and cross-validates the coefficients of relevance on evaluation sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app import runtime
from app.cli import options
from app.config import Settings
from benchmarks import folders
from benchmarks import relevance as fitting


def relevance(
    sets: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="At least two evaluation sets in BEIR layout.")],
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Fit the coefficients of relevance on all sets but one and measure them on that one, for each set."""
    with folders.data_dir(data_dir) as chosen:
        options.out.print(options.run(_fitted(sets, options.settings(chosen))))


async def _fitted(sets: list[Path], settings: Settings) -> Table:
    async with runtime.open_services(settings) as services:
        samples = await fitting.collect(sets, services)
    table = Table("left out", "ECE", "AUROC", "Brier", "of the base rate", "AUROC of answerable", "coefficients")
    for left in fitting.leave_one_out(samples):
        found = left.relevance
        figures = [f"{found.ece:.3f}", _figure(found.auroc), f"{found.brier:.4f}", f"{found.base_brier:.4f}"]
        table.add_row(left.name, *figures, _figure(left.answerable), _listed(left.coefficients))
    table.add_row("none", "", "", "", "", "", _listed(fitting.fit(samples)))
    return table


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _listed(coefficients: fitting.Array) -> str:
    return ", ".join(f"{value:.2f}" for value in coefficients)
