"""Implements `standby`: measures services on a primary and its standby while one of the servers is away."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Annotated

import typer
from rich.table import Table

from app.cli import options
from benchmarks import folders
from benchmarks import standby as drill
from benchmarks.standby import FreshnessFigures, PhaseFigures


def standby(
    seconds: Annotated[float, typer.Option(help="Length of each phase in seconds.", min=1.0)] = 10.0,
    documents: Annotated[int, typer.Option(help="Number of documents.", min=10)] = 200,
    writes: Annotated[int, typer.Option(help="Number of writes that are read at once.", min=1)] = 100,
    as_json: options.AsJson = False,
) -> None:
    """Stop and freeze the standby, then stop the primary, under searches and writes; count writes not found."""

    async def measured() -> tuple[FreshnessFigures, list[PhaseFigures]]:
        with folders.temporary() as folder:
            async with drill.installed(folder, documents) as installation:
                fresh = await drill.freshness(installation, writes)
                return fresh, [phase async for phase in drill.outages(installation, seconds)]

    fresh, phases = asyncio.run(measured())
    if as_json:
        figures = {"freshness": dataclasses.asdict(fresh), "phases": [dataclasses.asdict(phase) for phase in phases]}
        typer.echo(json.dumps(figures))
        return
    table = Table("phase", "searches", "writes", "p50 / p95 / longest ms", "reads")
    for phase in phases:
        times = f"{phase.p50_ms:.0f} / {phase.p95_ms:.0f} / {phase.longest_ms:.0f}"
        table.add_row(phase.name, *map(_counted, (phase.searches, phase.writes)), times, _counted(phase.reads))
    options.out.print(table)
    options.out.print(
        f"Not found right after {fresh.writes} writes: {fresh.same_process} in the same process, "
        f"{fresh.other_process} in another, {fresh.other_process_with_version} in another with X-Stepwell-Version."
    )


def _counted(counts: dict[int, int] | dict[str, int]) -> str:
    return ", ".join(f"{name} × {count}" for name, count in counts.items())
