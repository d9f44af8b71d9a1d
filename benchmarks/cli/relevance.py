"""Implements `relevance`: fits and cross-validates the coefficients of relevance on evaluation sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app import runtime
from app.cli import options
from app.settings import Settings
from benchmarks import folders
from benchmarks.relevance import features, figures, fitting
from benchmarks.relevance.features import Sample
from benchmarks.relevance.figures import LeftOut


def relevance(
    sets: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER…",
            help="At least two evaluation sets in BEIR layout; a folder `unanswerable` in one has questions that it "
            "does not answer.",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--features", help="A file that keeps what was found: written if it is missing, else read."),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Fit the coefficients of relevance on all sets but one and measure them on that one, for each set."""
    samples = features.load(cache) if cache is not None and cache.exists() else _collected(sets or [], data_dir)
    if cache is not None and not cache.exists():
        features.save(samples, cache)
    left_out = list(figures.leave_one_out(samples))
    every = [found for _, _, of_set in left_out for found in of_set]
    for table in (_own(every), _rejected(every), _answerable(every), _judged(every)):
        options.out.print(table)
    names = "answerable: intercept, cosine, coverage; relevance: intercept, score, log answerable"
    coefficients = Table("left out", names)
    for name, model, _ in left_out:
        coefficients.add_row(name, f"{model.listed}")
    coefficients.add_row("none", f"{fitting.fit(samples).listed}")
    options.out.print(coefficients)


def _collected(sets: list[Path], data_dir: Path | None) -> list[Sample]:
    with folders.data_dir(data_dir) as chosen:
        return options.run(_collect(sets, options.settings(chosen)))


async def _collect(sets: list[Path], settings: Settings) -> list[Sample]:
    async with runtime.open_services(settings) as services:
        return await features.collect(sets, services)


def _own(found: Sequence[LeftOut]) -> Table:
    table = Table(
        "own questions", "mode", "hits", "base rate", "ECE", "Brier", "of the base rate", "less, 95 %", "AUROC"
    )
    for one in found:
        figure, (low, high) = one.own.calibration, one.own.gain
        table.add_row(
            one.sample.name,
            one.sample.mode,
            f"{figure.count}",
            f"{figure.base_rate:.2f}",
            f"{figure.ece:.3f}",
            f"{figure.brier:.3f}",
            f"{figure.base_brier:.3f}",
            f"{low:+.3f} to {high:+.3f}",
            _figure(figure.auroc),
        )
    return table


def _rejected(found: Sequence[LeftOut]) -> Table:
    table = Table("questions without an answer", "mode", "kind", "mean relevance", "of the best hit")
    for one in found:
        for kind, (mean, best) in one.rejected.items():
            table.add_row(one.sample.name, one.sample.mode, kind, f"{mean:.3f}", f"{best:.3f}")
    return table


def _answerable(found: Sequence[LeftOut]) -> Table:
    table = Table("answerable", "mode", "own and", "ECE", "Brier", "AUROC")
    for one in found:
        for kind, figure in one.answerable.items():
            row = [one.sample.name, one.sample.mode, kind, f"{figure.ece:.3f}", f"{figure.brier:.3f}"]
            table.add_row(*row, _figure(figure.auroc))
    return table


def _judged(found: Sequence[LeftOut]) -> Table:
    names = "calibrated", "mode", "judged", "Brier", "of the base rate", "of the judged", "ECE", "noise: mean", "95 %"
    table = Table(*names)
    for one in found:
        judged = one.judged
        table.add_row(
            one.sample.name,
            one.sample.mode,
            f"{judged.questions}",
            f"{judged.brier:.3f}",
            f"{judged.base_brier:.3f}",
            f"{judged.constant_brier:.3f}",
            f"{judged.ece:.3f}",
            *(f"{value:.3f}" for value in judged.noise),
        )
    return table


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
