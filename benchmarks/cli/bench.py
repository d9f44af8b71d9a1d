"""Implements `bench`: measures latency and accuracy at several corpus sizes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app import errors
from app.cli import options, terminal
from benchmarks.cli import corpora
from benchmarks.cli.corpora import CorpusServices
from benchmarks.speed import benchmark, budgets, vectors
from benchmarks.speed import passages as real_passages
from benchmarks.speed.benchmark import Parameters, SpeedReport

MIN_CHUNKS = 100


def bench(
    chunks: Annotated[list[str] | None, typer.Option(help="Numbers of chunks, separated by commas.")] = None,
    questions: Annotated[int, typer.Option("--queries", help="Number of questions.", min=10)] = 100,
    passages: corpora.Passages = None,
    data_dir: corpora.DataDir = None,
    keep: corpora.Keep = False,
    as_json: options.AsJson = False,
) -> None:
    """Build synthetic corpora in an embedded Postgres, time every statement and compare with exact results."""
    sizes = _sizes(chunks or ["20000"])
    texts = real_passages.load(passages)
    with corpora.opened(data_dir, keep=keep) as parent:
        reports = [_measured(Parameters(size, questions, texts), parent, keep=keep) for size in sizes]
    if as_json:
        lines = [{**dataclasses.asdict(line), "verdict": line.verdict} for line in budgets.budgets(reports)]
        typer.echo(json.dumps({"sizes": [report.as_json() for report in reports], "budgets": lines}))
    else:
        for table in _tables(reports):
            terminal.out.print(table)


def _sizes(given: Sequence[str]) -> list[int]:
    try:
        sizes = sorted({int(number.replace("_", "")) for numbers in given for number in numbers.split(",")})
    except ValueError as error:
        raise errors.BadRequest("Give numbers of chunks such as 20000,100000.", field="chunks") from error
    if sizes[0] < MIN_CHUNKS:
        raise errors.BadRequest(f"A corpus holds at least {MIN_CHUNKS} chunks.", field="chunks")
    return sizes


def _measured(parameters: Parameters, parent: Path, *, keep: bool) -> SpeedReport:
    async def measure(corpus: CorpusServices) -> SpeedReport:
        return await benchmark.run(
            parameters,
            services=corpus.services,
            owner_dsn=corpus.owner_dsn,
            folder=corpus.folder,
            with_service=True,
            progress=corpus.progress,
        )

    return corpora.run(parameters, parent, measure, keep=keep)


def _tables(reports: Sequence[SpeedReport]) -> Iterator[Table]:
    yield _growth(reports)
    yield _accuracy(reports)
    for report in reports:
        yield _distances(report)
    yield _budgets(reports)


def _growth(reports: Sequence[SpeedReport]) -> Table:
    table = Table("p50 / p95 in ms", *(f"{report.chunks:,}" for report in reports), title="Growth")
    for name in reports[0].timings:
        timings = [report.timings[name] for report in reports]
        table.add_row(name, *(f"{timing.p50:.2f} / {timing.p95:.2f}" for timing in timings))
    if all(report.service for report in reports):
        services = [report.service for report in reports if report.service]
        measured = {
            "POST /api/rag/search": [one.request for one in services],
            "POST /api/rag/search/multihop": [one.multihop for one in services],
            "search_documents over /mcp": [one.tool for one in services],
        }
        for endpoint, timings in measured.items():
            table.add_row(endpoint, *(f"{timing.p50:.2f} / {timing.p95:.2f}" for timing in timings))
    table.add_section()
    for ratio in reports[0].ratios:
        table.add_row(ratio, *(f"{report.ratios[ratio]:.2f} ×" for report in reports))
    return table


def _accuracy(reports: Sequence[SpeedReport]) -> Table:
    table = Table("", *(f"{report.chunks:,}" for report in reports), title="Accuracy")
    for percent in reports[0].recall:
        table.add_row(f"recall@20, {percent:g} % pass", *(f"{report.recall[percent]:.3f}" for report in reports))
    table.add_row("top-10 overlap with exact BM25", *(f"{report.overlap:.3f}" for report in reports))
    table.add_row("rows that OR matches, p50", *(f"{report.matches_or:,}" for report in reports))
    table.add_row("rows that AND matches, p50", *(f"{report.matches_and:,}" for report in reports))
    table.add_row("the textbook's plan", *(report.textbook_plan for report in reports))
    table.add_row("on disk, MB", *(f"{report.disk.whole:,.0f}" for report in reports))
    table.add_row("built in, s", *(f"{report.corpus.built_s:,.0f}" for report in reports))
    return table


def _distances(report: SpeedReport) -> Table:
    shares = [f"{share:.0%}" for share in vectors.QUANTILES]
    table = Table("cosine distance", *shares, title=f"Vectors, {report.chunks:,} chunks")
    for kind, found in (("real", report.corpus.real), ("synthetic", report.corpus.made)):
        table.add_row(f"{kind}, nearest in a sample", *(f"{value:.3f}" for value in found.nearest))
        table.add_row(f"{kind}, random pairs", *(f"{value:.3f}" for value in found.random))
    return table


def _budgets(reports: Sequence[SpeedReport]) -> Table:
    table = Table("budget", "figure", "required", "desired", "", title="Budgets")
    for line in budgets.budgets(reports):
        sign = "≥" if line.at_least else "≤"
        must = "–" if line.must is None else f"{sign} {line.must:g}"
        table.add_row(line.what, f"{line.figure:g}", must, f"{sign} {line.strive:g}", line.verdict)
    return table
