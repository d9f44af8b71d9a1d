"""`stepwell eval`: measure the answers on a set with judgements."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app import runtime
from app.cli import options
from app.config import Settings
from app.proof import evaluation


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


def evaluate(
    folder: Annotated[Path, typer.Argument(help="A folder with corpus.jsonl, queries.jsonl and qrels.tsv.")],
    mode: Annotated[Mode, typer.Option(help="auto: all defaults; hybrid: without entities; or one leg.")] = Mode.auto,
    fusion: Annotated[Fusion, typer.Option(help="rrf: even weights; auto: the service's choice.")] = Fusion.auto,
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
    asked = {"mode": mode.value, "fusion": fusion.value, "extractor": extractor.value, "merge": merge.value}
    whose = options.checked_user(user) if user is not None else None
    report = options.run(_evaluate(folder, {**asked, "max_hops": max_hops, "user": whose}, options.settings(data_dir)))
    if as_json:
        typer.echo(json.dumps(report.as_json()))
        return
    table = Table("measure", "value", title=f"{folder.name}, {mode.value}")
    for name, value in report.as_json().items():
        table.add_row(name, f"{value}")
    options.out.print(table)


async def _evaluate(folder: Path, asked: dict[str, Any], settings: Settings) -> evaluation.Report:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=options.err, transient=True) as bar:
        tasks = {stage: bar.add_task(stage, total=None) for stage in ("ingesting", "asking")}

        def shown(stage: str, done: int, total: int) -> None:
            bar.update(tasks[stage], completed=done, total=total)

        async with runtime.open_services(settings) as services:
            return await evaluation.run(folder, **asked, services=services, progress=shown)
