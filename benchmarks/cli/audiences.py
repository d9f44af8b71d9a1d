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
    chunks: corpora.Chunks = 20_000,
    questions: Annotated[int, typer.Option("--queries", help="Number of questions.", min=5)] = 20,
    passages: corpora.Passages = None,
    data_dir: corpora.DataDir = None,
    keep: corpora.Keep = False,
) -> None:
    """Time searches with keys that see all, 50 %, 1 % and 0.01 % of the documents, and the same parts as filters.

    A large corpus is built once with --data-dir and --keep, and measured by later runs.
    """
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
    shapes = get_args(Shape)
    table = Table("p50 / p95 in ms", *shapes, title=f"Searches of a part, {figures.chunks:,} chunks")
    for share, caller in [
        (share, caller) for share in SHARES for caller in CALLERS if share != "all" or caller == "key"
    ]:
        timings = (figures.timings[(shape, share, caller)] for shape in shapes)
        head = share if share == "all" else f"{share}, {caller}"
        table.add_row(head, *(f"{timing.p50:.0f} / {timing.p95:.0f}" for timing in timings))
    return table
