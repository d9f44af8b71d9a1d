"""Implements `soak`: runs the service under mixed load with kills and verifies every acknowledged write."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app.cli import options, terminal
from benchmarks import folders
from benchmarks.soak import soak as story
from benchmarks.soak.soak import Outcome


def soak(
    minutes: Annotated[float, typer.Option(min=0.5, max=1440, help="Duration.")] = 20.0,
    rate: Annotated[float, typer.Option(min=0.1, max=200, help="Actions per second, on average.")] = 4.0,
    seed: Annotated[int, typer.Option(help="Seed of the load.")] = 0,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="An empty or new folder.", show_default="temporary")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Run the service under mixed load, hostile clients and kills; exit status 1 after any violation."""
    with folders.data_dir(data_dir) as chosen:
        outcome = options.run(
            story.run(chosen.absolute(), minutes=minutes, rate=rate, seed=seed, report=terminal.err.print)
        )
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(outcome)))
    else:
        terminal.out.print(_table(outcome))
    for violation in outcome.violations[:50]:
        terminal.err.print(f"Violation: {violation}")
    if outcome.violations:
        raise typer.Exit(1)


def _table(outcome: Outcome) -> Table:
    table = Table("measure", "value", title=f"Soak test, {outcome.minutes:.1f} minutes")
    table.add_row("requests", ", ".join(f"{name} {count}" for name, count in sorted(outcome.requests.items())))
    table.add_row("statuses", ", ".join(f"{code}: {count}" for code, count in outcome.statuses.items()))
    table.add_row("503 and 507 outside disruptions", f"{outcome.overloaded_undisturbed}")
    table.add_row("connections lost", f"{outcome.lost_connections}")
    table.add_row("disruptions", ", ".join(f"{name} {count}" for name, count in outcome.disruptions.items()))
    table.add_row("restarts; slowest stop on SIGTERM", f"{outcome.restarts}; {outcome.slowest_stop_s} s")
    table.add_row("acknowledged writes", f"{outcome.acknowledged_writes}")
    table.add_row("checks; documents compared", f"{outcome.checks}; {outcome.documents_checked}")
    lag = "n/a" if outcome.max_lag_s is None else f"{outcome.max_lag_s * 1000:.0f} ms"
    table.add_row("longest event-loop lag", lag)
    table.add_row("CPU of the service, cores", f"{outcome.cpu_share}")
    if outcome.memory is None:
        table.add_row("memory", "not judged: no process served for seven minutes")
    else:
        memory = outcome.memory
        table.add_row(
            f"memory over {memory.minutes:.0f} minutes after warm-up",
            f"{memory.first_mb:.0f} to {memory.last_mb:.0f} MB, at most {memory.max_mb:.0f} MB, "
            f"{memory.slope_mb_per_hour:+.1f} MB per hour",
        )
    table.add_row("violations", f"{len(outcome.violations)}")
    return table
