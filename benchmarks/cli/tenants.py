"""Implements `tenants`: searches of small users and of a large one, alone and in one database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app.cli import options
from benchmarks.cli import corpora
from benchmarks.cli.corpora import CorpusServices
from benchmarks.speed import passages as real_passages
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.owner import owning
from benchmarks.tenants import tenants as measuring
from benchmarks.tenants.tenants import TenantCorpus, TenantFigures


def tenants(
    users: Annotated[int, typer.Option(help="Number of small users.", min=1)] = 1_000,
    chunks: Annotated[int, typer.Option(help="Number of chunks of each small user.", min=10)] = 100,
    large: Annotated[int, typer.Option(help="Number of chunks of the large user.", min=5_000)] = 300_000,
    questions: Annotated[
        int, typer.Option("--queries", help="Number of questions of each kind of user.", min=10)
    ] = 100,
    passages: corpora.Passages = None,
    data_dir: corpora.DataDir = None,
    keep: corpora.Keep = False,
) -> None:
    """Time searches of users of very different size, and check that each kind keeps its plans beside the other."""
    parameters = Parameters(chunks, questions, real_passages.load(passages))
    corpora_of = (
        TenantCorpus(users, chunks, 0, parameters),
        TenantCorpus(0, chunks, large, parameters),
        TenantCorpus(users, chunks, large, parameters),
    )
    with corpora.opened(data_dir, keep=keep) as parent:
        figures = [_measured(tenant_corpus, parent, keep=keep) for tenant_corpus in corpora_of]
    options.out.print(_table(figures))
    violations = [line for each in figures for line in each.violations]
    for line in violations:
        options.err.print(line)
    options.out.print("Every plan is as required." if not violations else f"{len(violations)} plans differ.")
    raise typer.Exit(1 if violations else 0)


def _measured(tenant_corpus: TenantCorpus, parent: Path, *, keep: bool) -> TenantFigures:
    async def measure(opened: CorpusServices) -> TenantFigures:
        async with owning(opened.owner_dsn) as owner:
            return await measuring.run(tenant_corpus, owner, opened.services, opened.folder, progress=opened.progress)

    return corpora.run(tenant_corpus, parent, measure, keep=keep)


def _table(figures: Sequence[TenantFigures]) -> Table:
    small, large, both = figures
    table = Table("p50 / p95 in ms", "alone", "in one database", "the other kind searching too", title="Searches")
    for key in both.in_turns:
        alone = (small.in_turns | large.in_turns)[key]
        timings = (alone, both.in_turns[key], both.at_once[key])
        table.add_row(f"{key[0]} user, {key[1]}", *(f"{timing.p50:.1f} / {timing.p95:.1f}" for timing in timings))
    return table
