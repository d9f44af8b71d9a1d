"""Implements `guided`: measures what entities add to the time of a search."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from app.cli import options
from benchmarks.cli import corpora
from benchmarks.cli.corpora import CorpusServices
from benchmarks.speed import guided_latency, passages
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.guided_latency import GuidedLatency


def guided(
    chunks: corpora.Chunks = 20_000,
    questions: Annotated[int, typer.Option("--queries", help="Number of questions of each kind.", min=10)] = 100,
    data_dir: corpora.DataDir = None,
    keep: corpora.Keep = False,
    as_json: options.AsJson = False,
) -> None:
    """Time searches that name no entity, or one with few to 14,000 mentions, with and without entities."""
    parameters = Parameters(chunks, questions, passages.load(None))

    async def measure(corpus: CorpusServices) -> list[GuidedLatency]:
        return await guided_latency.run(
            parameters,
            services=corpus.services,
            owner_dsn=corpus.owner_dsn,
            folder=corpus.folder,
            progress=corpus.progress,
        )

    with corpora.opened(data_dir, keep=keep) as parent:
        found = corpora.run(parameters, parent, measure, keep=keep)
    if as_json:
        typer.echo(json.dumps([{**dataclasses.asdict(one), "ratios": one.ratios} for one in found]))
    else:
        options.out.print(_table(found, chunks))


def _table(found: Sequence[GuidedLatency], chunks: int) -> Table:
    table = Table("p50 / p95 in ms", *(one.kind for one in found), title=f"Entities, {chunks:,} chunks")
    for name in ("flat", "first", "again"):
        timings = [getattr(one, name) for one in found]
        table.add_row(name, *(f"{timing.p50:.1f} / {timing.p95:.1f}" for timing in timings))
    table.add_row("first / flat", *("{:.2f} / {:.2f}".format(*one.ratios) for one in found))
    table.add_row("guided", *(f"{one.guided:.0%}" for one in found))
    return table
