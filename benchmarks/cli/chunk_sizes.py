"""Implements `chunk-sizes`: measures flat and multi-hop search by the size of chunks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from app import runtime
from app.cli import options
from app.config import Settings
from app.evaluation import beir
from app.evaluation.runner import Tenant
from benchmarks import folders
from benchmarks.chunk_sizes import SizeFigures, bind, measure, unbound

HEADER = ("size", "chunks", "embedded", "CPU s", "nDCG@10", "R@5", "R in 6,000 characters", "multi-hop R@5")


def chunk_sizes(
    sets: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Evaluation sets in BEIR layout.")],
    size: Annotated[list[int] | None, typer.Option(help="A size in tokens; repeatable.", show_default="six")] = None,
    bound: Annotated[int, typer.Option(help="Documents that are bound into one; 1: none.", min=1)] = 1,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Measure the effect of STEPWELL_CHUNK_TOKENS on documents as they are or bound into long ones."""
    with folders.data_dir(data_dir) as chosen:
        options.run(_measure(sets, size or [128, 160, 192, 256, 320, 400], bound, options.settings(chosen)))


async def _measure(sets: Iterable[Path], sizes: list[int], count: int, settings: Settings) -> None:
    async with runtime.open_services(settings) as services:
        for folder in sets:
            loaded = beir.load(folder)
            documents = bind(loaded, count) if count > 1 else unbound(loaded)
            user_id = Tenant.of(f"{folder.name} by sizes, {count}").user_id
            typer.echo(f"\n{folder.name}, {len(documents.uploads)} documents\n")
            typer.echo(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
            async for figures in measure(loaded, documents, user_id, services, sizes=sizes):
                typer.echo(_row(figures))


def _row(figures: SizeFigures) -> str:
    values = dataclasses.astuple(figures)
    shown = ("–" if value is None else f"{value:.4f}" if isinstance(value, float) else f"{value}" for value in values)
    return f"| {' | '.join(shown)} |"
