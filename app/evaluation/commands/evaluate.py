"""Implements `stepwell eval`: measures retrieval quality on an evaluation set."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from app import limits, runtime
from app.cli import options, terminal
from app.cli.progress import Progress
from app.evaluation import beir, runner
from app.evaluation import calibration as calibrations
from app.evaluation.runner import EvaluationMode, EvaluationReport, Strategy, Tenant
from app.multihop.commands import Extractor, Merge
from app.settings import Settings


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


NAMED = 3
"""Missing documents that are named."""
MODES: dict[str, EvaluationMode] = {mode: mode for mode in get_args(EvaluationMode)} | {
    "vector": "semantic",
    "text": "lexical",
}


Alpha = Annotated[float | None, typer.Option(min=0, max=1, help="As in the API.", show_default="as configured")]
Calibration = Annotated[
    bool,
    typer.Option(
        "--calibration", help="Print how well the relevance of the first ten hits and `answerable` are calibrated."
    ),
]
Wrong = Annotated[
    list[Path] | None,
    typer.Option("--wrong", help="Folder of another set, whose questions this one does not answer; repeatable."),
]
User = Annotated[
    str | None, typer.Option("--user", help="Whose documents the set joins.", show_default="a user of its own")
]
Folder = Annotated[
    Path,
    typer.Argument(
        help="A folder with corpus.jsonl, queries.jsonl and qrels.tsv or qrels/test.tsv.", show_default=False
    ),
]


def evaluate(
    folder: Folder,
    mode: Annotated[
        EvalMode,
        typer.Option(
            help="A mode of the API; flat: auto without entities; two_pass: auto with hierarchy force; multihop. "
            "vector and text: aliases of semantic and lexical."
        ),
    ] = EvalMode.auto,
    fusion: Annotated[Fusion, typer.Option(help="As in the API.")] = Fusion.auto,
    hierarchy: Annotated[
        Hierarchy, typer.Option(help="As in the API; not with flat and two_pass; multihop: force or off.")
    ] = Hierarchy.auto,
    boost: Annotated[bool, typer.Option("--boost/--no-boost", help="As in the API; flat: never.")] = True,
    alpha: Alpha = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Count the questions that the mode helps, harms and loses against flat.")
    ] = False,
    rerank: Annotated[options.Rerank, typer.Option(help="As in the API.")] = options.Rerank.none,
    mmr: options.Mmr = False,
    collapse: options.Collapse = False,
    extractor: Annotated[Extractor, typer.Option(help="Only with multihop: source of the terms.")] = Extractor.auto,
    merge: Annotated[Merge, typer.Option(help="Only with multihop: how hops are merged.")] = Merge.linked,
    max_hops: Annotated[int, typer.Option(min=limits.MIN_HOPS, max=limits.MAX_HOPS, help="Only with multihop.")] = 2,
    calibration: Calibration = False,
    wrong: Wrong = None,
    user: User = None,
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
        term_method=extractor.value,
        merge=merge.value,
        max_hops=max_hops,
        mmr=mmr,
        collapse=collapse,
    )
    loaded, others = beir.load(folder), [question for other in wrong or () for question in beir.load(other).questions]
    _warn_of(loaded.missing)
    report = options.run(_evaluate(loaded, others, strategy, tenant, options.settings(data_dir)))
    title = f"{folder.name}, {strategy.mode}" + (f", reranked: {rerank.value}" if strategy.rerank != "none" else "")
    if as_json:
        terminal.write_json(report.as_json())
        return
    _show(report, title)
    if calibration:
        _show_calibration(report)


def _warn_of(missing: Sequence[str]) -> None:
    if missing:
        named = ", ".join(missing[:NAMED]) + (", …" if len(missing) > NAMED else "")
        what = "1 relevant document is" if len(missing) == 1 else f"{len(missing)} relevant documents are"
        warning = f"{what} not in the corpus, so no search finds them: {escape(named)}"
        options.err.print(f"[yellow]Warning:[/] {warning}", soft_wrap=True)


def _show_calibration(report: EvaluationReport) -> None:
    if report.predictions is None:
        options.out.print("Hits have no relevance: the embedding model is not calibrated.")
        return
    for name, pairs in (("relevance", report.predictions.relevance), ("answerable", report.predictions.answerable)):
        found = calibrations.of(pairs)
        auroc = "–" if found.auroc is None else f"{found.auroc:.3f}"
        table = Table("predicted", "observed", "number", title=f"{name} of {found.count}")
        for each in found.bins:
            table.add_row(f"{each.mean:.3f}", f"{each.observed:.3f}", f"{each.count}")
        options.out.print(table)
        brier = f"{found.brier:.4f} (of the base rate: {found.base_brier:.4f})"
        options.out.print(f"ECE {found.ece:.3f}, AUROC {auroc}, Brier score {brier}")


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
    loaded: beir.EvaluationSet,
    unanswerable: Sequence[beir.JudgedQuestion],
    strategy: Strategy,
    tenant: Tenant,
    settings: Settings,
) -> EvaluationReport:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=options.err, transient=True) as bar:
        tasks = {stage: bar.add_task(stage, total=None) for stage in ("ingesting", "asking")}

        def show(stage: str, done: int, total: int) -> None:
            bar.update(tasks[stage], completed=done, total=total)

        async with runtime.open_services(settings) as services:
            return await runner.run(
                loaded, strategy, tenant, services=services, unanswerable=unanswerable, progress=show
            )
