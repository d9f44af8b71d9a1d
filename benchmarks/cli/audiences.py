"""Implements `audiences`: searches with keys that see a part of a knowledge base."""

from __future__ import annotations

from typing import Annotated, get_args

import typer
from rich.table import Table

from app.cli import options
from benchmarks.cli import corpora
from benchmarks.cli.corpora import CorpusServices
from benchmarks.speed import audiences as measuring
from benchmarks.speed import passages as real_passages
from benchmarks.speed.audiences import CALLERS, SHARES, AudienceFigures, Shape
from benchmarks.speed.benchmark import Parameters


def audiences(
    chunks: corpora.Chunks = 100_000,
    questions: Annotated[int, typer.Option("--queries", help="Number of questions.", min=10)] = 100,
    passages: corpora.Passages = None,
    data_dir: corpora.DataDir = None,
    keep: corpora.Keep = False,
) -> None:
    """Time searches with keys that see all, 50 %, 1 % and 0.01 % of the documents, and the same parts as filters."""
    parameters = Parameters(chunks, questions, real_passages.load(passages))

    async def measure(corpus: CorpusServices) -> AudienceFigures:
        return await measuring.run(
            parameters,
            services=corpus.services,
            owner_dsn=corpus.owner_dsn,
            folder=corpus.folder,
            progress=corpus.progress,
        )

    with corpora.opened(data_dir, keep=keep) as parent:
        figures = corpora.run(parameters, parent, measure, keep=keep)
    options.out.print(_table(figures))


def _table(figures: AudienceFigures) -> Table:
    columns = [(share, caller) for share in SHARES for caller in CALLERS if share != "all" or caller == "key"]
    heads = (share if share == "all" else f"{share}, {caller}" for share, caller in columns)
    table = Table("p50 / p95 in ms", *heads, title=f"Searches of a part, {figures.chunks:,} chunks")
    for shape in get_args(Shape):
        timings = (figures.timings[(shape, *column)] for column in columns)
        table.add_row(shape, *(f"{timing.p50:.1f} / {timing.p95:.1f}" for timing in timings))
    return table
