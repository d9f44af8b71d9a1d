"""`stepwell eval`: measure the answers on a set with judgements."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app import errors, runtime
from app.cli import options
from app.config import Settings
from app.proof import beir, entity_world, evaluation


class Mode(StrEnum):
    """How the questions are asked."""

    auto = "auto"
    hybrid = "hybrid"
    vector = "vector"
    text = "text"
    two_pass = "two_pass"
    multihop = "multihop"


class Extractor(StrEnum):
    """Who names the terms of a further hop."""

    auto = "auto"
    llm = "llm"
    entities = "entities"
    statistical = "statistical"


class Merge(StrEnum):
    """How the chunks of several hops are ordered."""

    linked = "linked"
    classic = "classic"


class Fusion(StrEnum):
    """How the legs are fused."""

    auto = "auto"
    rrf = "rrf"
    convex = "convex"


class Half(StrEnum):
    """Which made-up company: they share no name, topic or sentence."""

    train = "train"
    test = "test"


def evaluate(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder with corpus.jsonl, queries.jsonl and qrels.tsv.", show_default=False)
    ] = None,
    generated: Annotated[
        Half | None, typer.Option(help="A made-up company's documents instead, with people, projects and teams.")
    ] = None,
    documents: Annotated[
        int, typer.Option(min=40, max=50_000, help="With --generated: how many.")
    ] = entity_world.DOCUMENTS,
    questions: Annotated[
        int, typer.Option(min=1, max=500, help="With --generated: how many of each type, at most.")
    ] = entity_world.QUESTIONS,
    seed: Annotated[int, typer.Option(help="With --generated: another company of the same words.")] = 0,
    save: Annotated[
        Path | None, typer.Option(help="With --generated: only write the set into this folder.", show_default=False)
    ] = None,
    mode: Annotated[Mode, typer.Option(help="auto: all defaults; hybrid: without entities; or one leg.")] = Mode.auto,
    fusion: Annotated[Fusion, typer.Option(help="rrf: even weights; auto: the service's choice.")] = Fusion.auto,
    rerank: Annotated[
        options.Rerank, typer.Option(help="With --mode auto, hybrid or two_pass: score the best again.")
    ] = options.Rerank.none,
    extractor: Annotated[Extractor, typer.Option(help="With --mode multihop: who names terms.")] = Extractor.auto,
    merge: Annotated[Merge, typer.Option(help="With --mode multihop: how hops are merged.")] = Merge.linked,
    max_hops: Annotated[int, typer.Option(min=2, max=4, help="With --mode multihop.")] = 2,
    user: Annotated[
        str | None, typer.Option("--user", help="Whose documents the set joins.", show_default="a user of its own")
    ] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Ingest a set in BEIR layout through the real pipeline, ask its questions, and print how good the answers are."""
    if (folder is None) == (generated is None):
        raise errors.BadRequest("Give either a folder or --generated.", field="folder")
    if generated is not None:
        loaded = entity_world.build(generated.value, documents=documents, questions=questions, seed=seed)
        name = f"generated {generated.value} {documents} {questions} {seed}"
    elif folder is not None:
        loaded, name = beir.load(folder), str(folder.resolve())
    if save is not None:
        if generated is None:
            raise errors.BadRequest("--save goes with --generated.", field="save")
        beir.save(loaded, save)
        return
    asked = {"mode": mode.value, "fusion": fusion.value, "extractor": extractor.value, "merge": merge.value}
    whose = options.checked_user(user) if user is not None else evaluation.user_of(name)
    how = {**asked, "rerank": rerank.value, "max_hops": max_hops, "alone": user is None}
    report = options.run(_evaluate(loaded, whose, how, options.settings(data_dir)))
    if as_json:
        typer.echo(json.dumps(report.as_json()))
    else:
        reranked = f", re-ranked: {rerank.value}" if rerank != options.Rerank.none else ""
        _show(report, f"{Path(name).name}, {mode.value}{reranked}")


def _show(report: evaluation.Report, title: str) -> None:
    table = Table("measure", "value", title=title)
    for name, value in report.totals().items():
        table.add_row(name, f"{value}")
    options.out.print(table)
    if report.kinds:
        kinds = Table("type", "queries", "ndcg@10", "recall@5", title="by type of question")
        for kind, means in report.kinds.items():
            kinds.add_row(kind, f"{means['queries']}", f"{means['ndcg@10']}", f"{means['recall@5']}")
        options.out.print(kinds)


async def _evaluate(
    loaded: beir.EvaluationSet, user_id: str, asked: dict[str, Any], settings: Settings
) -> evaluation.Report:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=options.err, transient=True) as bar:
        tasks = {stage: bar.add_task(stage, total=None) for stage in ("ingesting", "asking")}

        def shown(stage: str, done: int, total: int) -> None:
            bar.update(tasks[stage], completed=done, total=total)

        async with runtime.open_services(settings) as services:
            return await evaluation.run(loaded, user_id, **asked, services=services, progress=shown)
