"""Implements `repository`: measures how well the code and the tables of this repository are found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app import runtime
from app.cli import options
from app.config import Settings
from benchmarks import folders
from benchmarks.repository import measure
from benchmarks.repository.measure import KindFigures

HEADER = ("questions about", "number", "files nDCG@10", "files R@5", "passages R@5", "passages MRR@10")


def repository(
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Store this repository's code and documentation, and ask 60 questions about code and tables."""
    with folders.data_dir(data_dir) as chosen:
        figures = options.run(_measure(options.settings(chosen)))
    typer.echo(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    for one in figures:
        means = (one.file_ndcg, one.file_recall, one.passage_recall, one.passage_mrr)
        typer.echo(f"| {one.kind} | {one.questions} | {' | '.join(f'{mean:.3f}' for mean in means)} |")


async def _measure(settings: Settings) -> list[KindFigures]:
    async with runtime.open_services(settings) as services:
        return await measure.run(services)
