"""Implements `ablation`: measures a search over several hops without one signal or method after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app import runtime
from app.cli import options, terminal
from app.settings import Settings
from benchmarks import ablation as measuring
from benchmarks import folders
from benchmarks.ablation import Measured


def ablation(
    sets: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Evaluation sets in BEIR layout.")],
    left_out: Annotated[
        list[str] | None, typer.Option("--without", help=f"One of {', '.join(measuring.VARIANTS[1:])}; repeat.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Measure recall@5 and nDCG@10 over several hops without each part, as differences from all of them."""
    parts = ["all", *(left_out or measuring.VARIANTS[1:])]
    if unknown := set(parts) - set(measuring.VARIANTS):
        raise typer.BadParameter(f"Unknown: {', '.join(sorted(unknown))}.", param_hint="--without")
    with folders.data_dir(data_dir) as chosen:
        measured = options.run(_measure(sets, parts, options.settings(chosen)))
    terminal.out.print(_table(measured, parts))


async def _measure(sets: list[Path], parts: list[str], settings: Settings) -> list[Measured]:
    async with runtime.open_services(settings) as services:
        return [one async for one in measuring.run(sets, parts, services)]


def _table(measured: list[Measured], parts: list[str]) -> Table:
    found = {(one.left_out, one.name): one.measures for one in measured}
    names = list(dict.fromkeys(one.name for one in measured))
    table = Table("without", *names, "mean", title="recall@5 / nDCG@10, as differences from all")
    for part in parts:
        pairs = [[found[part, name][measure] for measure in measuring.MEASURES] for name in names]
        base = [[found["all", name][measure] for measure in measuring.MEASURES] for name in names]
        if part == "all":
            table.add_row(part, *(f"{recall:.4f} / {ndcg:.4f}" for recall, ndcg in pairs), "")
            continue
        differences = [(one[0] - all_[0], one[1] - all_[1]) for one, all_ in zip(pairs, base, strict=True)]
        mean = tuple(sum(column) / len(differences) for column in zip(*differences, strict=True))
        table.add_row(part, *(f"{recall:+.4f} / {ndcg:+.4f}" for recall, ndcg in (*differences, mean)))
    return table
