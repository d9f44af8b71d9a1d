"""Implements `bm25`: compares the text leg with an independent BM25 on evaluation sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app import runtime
from app.cli import options
from app.config import Settings
from benchmarks import bm25 as comparison
from benchmarks import folders


def bm25(
    sets: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Evaluation sets in BEIR layout.")],
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Compare nDCG@10 of the text leg with bm25s on the same lexemes."""
    with folders.data_dir(data_dir) as chosen:
        options.out.print(options.run(_compare(sets, options.settings(chosen))))


async def _compare(sets: list[Path], settings: Settings) -> Table:
    table = Table("nDCG@10", "text leg", "bm25s", "difference")
    async with runtime.open_services(settings) as services:
        for folder in sets:
            ours, reference = await comparison.compare(folder, services)
            table.add_row(folder.name, f"{ours:.4f}", f"{reference:.4f}", f"{ours - reference:+.4f}")
    return table
