"""Implements `stepwell eval`: measures retrieval quality on an evaluation set."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app import runtime
from app.cli import options
from app.config import Settings
from app.evaluation import beir, runner
from app.evaluation.runner import EvaluationMode, EvaluationReport, Strategy, Tenant


class EvalMode(StrEnum):
    """The API's modes, `flat`, `two_pass` and `multihop`; `vector` and `text` are aliases."""

    auto = "auto"
    hybrid = "hybrid"
    semantic = "semantic"
    lexical = "lexical"
    flat = "flat"
    two_pass = "two_pass"
    multihop = "multihop"
    vector = "vector"
    text = "text"


class Extractor(StrEnum):
    """Sources of the terms for a further hop."""

    auto = "auto"
    llm = "llm"
    entities = "entities"
    statistical = "statistical"


class Merge(StrEnum):
    """Strategies for merging the hits of several hops."""

    linked = "linked"
    classic = "classic"


class Fusion(StrEnum):
    """Fusion methods."""

    auto = "auto"
    rrf = "rrf"
    convex = "convex"


class Hierarchy(StrEnum):
    """Whether entities guide a search."""

    auto = "auto"
    off = "off"
    force = "force"


MODES: dict[str, EvaluationMode] = {mode: mode for mode in get_args(EvaluationMode)} | {
    "vector": "semantic",
    "text": "lexical",
}


def evaluate(
    folder: Annotated[
        Path, typer.Argument(help="A folder with corpus.jsonl, queries.jsonl and qrels.tsv.", show_default=False)
    ],
    mode: Annotated[
        EvalMode,
        typer.Option(
            help="A mode of the API; flat: auto without entities; two_pass: auto with hierarchy force; multihop. "
            "vector and text: aliases of semantic and lexical."
        ),
    ] = EvalMode.auto,
    fusion: Annotated[Fusion, typer.Option(help="As in the API.")] = Fusion.auto,
    hierarchy: Annotated[
        Hierarchy, typer.Option(help="As in the API; not with flat, two_pass and multihop.")
    ] = Hierarchy.auto,
    boost: Annotated[bool, typer.Option("--boost/--no-boost", help="As in the API; flat, multihop: never.")] = True,
    alpha: Annotated[
        float | None, typer.Option(min=0, max=1, help="As in the API.", show_default="as configured")
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Count the questions that the mode helps, harms and loses against flat.")
    ] = False,
    rerank: Annotated[options.Rerank, typer.Option(help="As in the API; not with multihop.")] = options.Rerank.none,
    extractor: Annotated[Extractor, typer.Option(help="Only with multihop: source of the terms.")] = Extractor.auto,
    merge: Annotated[Merge, typer.Option(help="Only with multihop: how hops are merged.")] = Merge.linked,
    max_hops: Annotated[int, typer.Option(min=2, max=4, help="Only with multihop.")] = 2,
    user: Annotated[
        str | None, typer.Option("--user", help="Whose documents the set joins.", show_default="a user of its own")
    ] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Ingest a set in BEIR layout, ask its questions and print the averaged metrics."""
    tenant = Tenant.of(str(folder.resolve())) if user is None else Tenant(options.checked_user(user), exclusive=False)
    strategy = Strategy(
        MODES[mode.value],
        fusion.value,
        hierarchy=hierarchy.value,
        boost=boost,
        alpha=alpha,
        compare=compare,
        rerank=rerank.value,
        extractor=extractor.value,
        merge=merge.value,
        max_hops=max_hops,
    )
    report = options.run(_evaluate(beir.load(folder), strategy, tenant, options.settings(data_dir)))
    if as_json:
        typer.echo(json.dumps(report.as_json()))
    else:
        reranked = f", reranked: {rerank.value}" if rerank != options.Rerank.none else ""
        _show(report, f"{folder.name}, {strategy.mode}{reranked}")


def _show(report: EvaluationReport, title: str) -> None:
    table = Table("metric", "value", title=title)
    for name, value in report.totals().items():
        table.add_row(name, f"{value}")
    if report.comparison:
        for name in ("helped", "harmed", "lost"):
            changed = getattr(report.comparison, name)
            table.add_row(f"{name} against flat", f"{len(changed)}: {' '.join(changed)}" if changed else "0")
    options.out.print(table)
    if report.kinds:
        kinds = Table("type", "queries", "ndcg@10", "recall@5", title="by type of question")
        for kind, means in report.kinds.items():
            kinds.add_row(kind, f"{means['queries']}", f"{means['ndcg@10']}", f"{means['recall@5']}")
        options.out.print(kinds)


async def _evaluate(
    loaded: beir.EvaluationSet, strategy: Strategy, tenant: Tenant, settings: Settings
) -> EvaluationReport:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=options.err, transient=True) as bar:
        tasks = {stage: bar.add_task(stage, total=None) for stage in ("ingesting", "asking")}

        def show(stage: str, done: int, total: int) -> None:
            bar.update(tasks[stage], completed=done, total=total)

        async with runtime.open_services(settings) as services:
            return await runner.run(loaded, strategy, tenant, services=services, progress=show)
