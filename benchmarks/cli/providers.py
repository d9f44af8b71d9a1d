"""Implements `providers`: searches `stepwell serve` while its remote embedder fails."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app.cli import options, terminal
from app.settings import Settings
from benchmarks import folders, provider_faults
from benchmarks.provider_faults import FAULTS, FaultDrill, FaultFigures
from benchmarks.service import Launch, serving

DEADLINE_MS = Settings.model_fields["search_timeout_s"].default * 1000
COLUMNS = ("fault", "searches", "answers", "without vector", "p50 ms", "p95 ms", "longest ms", "calls", "recovery s")


def providers(
    searches: Annotated[int, typer.Option(help="Searches for each fault.", min=20)] = 2_000,
    documents: Annotated[int, typer.Option(help="Stored documents.", min=10)] = 500,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Measure searches while the embedder fails; exit status 1 if one fails, finds nothing or misses its deadline."""
    with folders.data_dir(data_dir) as chosen:
        chosen.mkdir(parents=True, exist_ok=True)
        folders.open_to_server(chosen)
        measured = options.run(_measured(searches, documents, chosen))
    table = Table(*COLUMNS)
    for figures in measured:
        table.add_row(*_row(figures))
    terminal.out.print(table)
    if any(set(one.statuses) != {200} or one.without_hits or one.longest_ms > DEADLINE_MS for one in measured):
        raise typer.Exit(1)


async def _measured(searches: int, documents: int, data_dir: Path) -> list[FaultFigures]:
    async with provider_faults.standing_in() as provider:
        launch = Launch(data_dir, provider.settings())
        async with serving(launch) as service, FaultDrill(service.address, provider) as drill:
            await drill.store(documents)
            return [await drill.measure(fault, searches) for fault in ("none", *FAULTS)]


def _row(figures: FaultFigures) -> list[str]:
    statuses = ", ".join(f"{count} × {status}" for status, count in sorted(figures.statuses.items()))
    times = (figures.p50_ms, figures.p95_ms, figures.longest_ms)
    return [
        figures.fault,
        str(figures.searches),
        statuses,
        str(figures.degraded),
        *(f"{milliseconds:.0f}" for milliseconds in times),
        str(figures.calls),
        f"{figures.recovered_s:.1f}",
    ]
