"""Implements `ocr`: measures the error rates and the speed of optical character recognition."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from app.cli import options
from app.recognition import process
from benchmarks.ocr import measure


def ocr(
    pages: Annotated[int, typer.Option(min=1, max=10, help="Pages of each kind.")] = 3,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the recogniser.")] = 1,
) -> None:
    """Measure OCR on rendered pages of the sample notes: clean, skewed, noisy, coarse, in columns, and with a table."""
    if not process.is_installed():
        raise typer.BadParameter('OCR needs the extra: pip install "stepwell[ocr]".')
    options.out.print(options.run(_measured(pages, threads)))


async def _measured(pages: int, threads: int) -> Table:
    table = Table("pages", "characters", "error rate", "CPU s a page", "pages a minute", "memory MB")
    async for one in measure.kinds(pages, threads):
        table.add_row(
            f"{one.pages} {one.kind}",
            f"{one.characters:,}",
            f"{one.error_rate:.2%}",
            f"{one.cpu_s / one.pages:.1f}",
            f"{60 * one.pages / one.took_s:.1f}",
            f"{one.memory_bytes / 1e6:.0f}",
        )
    return table
