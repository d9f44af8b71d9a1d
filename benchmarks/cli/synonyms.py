"""Implements `synonyms`: measures what synonyms add to the time of a search."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer
from rich.table import Table

from app.cli import options
from benchmarks.cli import corpora
from benchmarks.cli.corpora import CorpusServices
from benchmarks.speed import passages as real_passages
from benchmarks.speed import synonym_latency
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.synonym_latency import SynonymLatency


def synonyms(
    chunks: corpora.Chunks = 20_000,
    questions: Annotated[int, typer.Option("--queries", help="Number of questions.", min=10, max=400)] = 40,
    passages: corpora.Passages = None,
    data_dir: corpora.DataDir = None,
    keep: corpora.Keep = False,
    as_json: options.AsJson = False,
) -> None:
    """Time searches of a user without synonyms, and with 500 groups that do or do not concern the query."""
    parameters = Parameters(chunks, questions, real_passages.load(passages))

    async def measure(corpus: CorpusServices) -> list[SynonymLatency]:
        return await synonym_latency.run(
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
        return
    table = Table("groups", "expanded", "p50 / p95 ms", "CPU ms", "mean CPU ms", title=f"Synonyms, {chunks:,} chunks")
    for one in found:
        elapsed, cpu = (f"{timing.p50:.1f} / {timing.p95:.1f}" for timing in (one.elapsed, one.cpu))
        table.add_row(one.kind, f"{one.expanded:.0%}", elapsed, cpu, f"{one.mean:.2f}")
    options.out.print(table)
