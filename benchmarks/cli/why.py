"""Implements `why`: measures how long the explanation of a passage's place takes."""

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
from benchmarks.speed import passages, why_latency
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.why_latency import WhyLatency


def why(
    chunks: corpora.Chunks = 20_000,
    questions: Annotated[int, typer.Option("--queries", help="Number of questions.", min=10)] = 100,
    data_dir: corpora.DataDir = None,
    keep: corpora.Keep = False,
    as_json: options.AsJson = False,
) -> None:
    """Explain random passages, which a search hardly ever returns, and time the stages of the explanation."""
    parameters = Parameters(chunks, questions, passages.load(None))

    async def measure(corpus: CorpusServices) -> list[WhyLatency]:
        return await why_latency.run(
            parameters,
            services=corpus.services,
            owner_dsn=corpus.owner_dsn,
            folder=corpus.folder,
            progress=corpus.progress,
        )

    with corpora.opened(data_dir, keep=keep) as parent:
        found = corpora.run(parameters, parent, measure, keep=keep)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(one) for one in found]))
    else:
        options.out.print(_table(found, chunks))


def _table(found: Sequence[WhyLatency], chunks: int) -> Table:
    table = Table("p50 / p95 in ms", *(one.mode for one in found), title=f"Explanation of a place, {chunks:,} chunks")
    for stage in sorted({stage for one in found for stage in one.stages}, key=lambda stage: (stage == "total", stage)):
        timings = (one.stages.get(stage) for one in found)
        table.add_row(stage, *(f"{timing.p50:.1f} / {timing.p95:.1f}" if timing else "" for timing in timings))
    table.add_section()
    for verdict in sorted({verdict for one in found for verdict in one.verdicts}):
        table.add_row(verdict, *(str(one.verdicts.get(verdict, 0)) for one in found))
    return table
