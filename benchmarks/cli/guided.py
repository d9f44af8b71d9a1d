"""Implements `guided`: measures what entities add to the time of a search."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.table import Table

from app.cli import options
from benchmarks.cli import corpora
from benchmarks.cli.corpora import CorpusServices
from benchmarks.speed import guided_latency
from benchmarks.speed import passages as real_passages
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.guided_latency import GuidedLatency
from benchmarks.speed.timings import Timing


def guided(
    chunks: corpora.Chunks = 20_000,
    questions: Annotated[int, typer.Option("--queries", help="Number of questions of each kind.", min=10)] = 100,
    passages: corpora.Passages = None,
    data_dir: corpora.DataDir = None,
    keep: corpora.Keep = False,
    as_json: options.AsJson = False,
) -> None:
    """Time searches that name no entity, or one with few to 14,000 mentions, with and without entities."""
    parameters = Parameters(chunks, questions, real_passages.load(passages))

    async def measure(corpus: CorpusServices) -> list[GuidedLatency]:
        return await guided_latency.run(
            parameters,
            services=corpus.services,
            owner_dsn=corpus.owner_dsn,
            folder=corpus.folder,
            with_service=True,
            progress=corpus.progress,
        )

    with corpora.opened(data_dir, keep=keep) as parent:
        found = corpora.run(parameters, parent, measure, keep=keep)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(one) for one in found]))
    else:
        options.out.print(_table(found, chunks))


def _table(found: Sequence[GuidedLatency], chunks: int) -> Table:
    table = Table("p50 / p95 in ms", *(one.kind for one in found), title=f"Entities, {chunks:,} chunks")
    _add_rows(table, {variant: [one.elapsed[variant] for one in found] for variant in found[0].elapsed})
    _add_rows(table, {f"CPU, {variant}": [one.cpu[variant] for one in found] for variant in found[0].cpu})
    requests = {"HTTP, flat": [one.request_flat for one in found], "HTTP": [one.request for one in found]}
    _add_rows(table, {name: [one for one in timings if one] for name, timings in requests.items()})
    table.add_row("guided", *(f"{one.guided:.0%}" for one in found))
    return table


def _add_rows(table: Table, rows: Mapping[str, Sequence[Timing]]) -> None:
    """Adds the timings by name, and each as a multiple of the first, which is without entities."""
    flat, *others = rows.items()
    for name, timings in rows.items():
        table.add_row(name, *(f"{timing.p50:.1f} / {timing.p95:.1f}" for timing in timings))
    for name, timings in others:
        ratios = [(one.p50 / base.p50, one.p95 / base.p95) for one, base in zip(timings, flat[1], strict=True)]
        table.add_row(f"{name} / flat", *(f"{p50:.2f} / {p95:.2f}" for p50, p95 in ratios))
