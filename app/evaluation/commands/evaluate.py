"""Implements `stepwell eval`: measures retrieval quality on an evaluation set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from app import limits, runtime
from app.cli import options, terminal
from app.cli.progress import Progress
from app.evaluation import beir, metrics, runner
from app.evaluation.runner import EvaluationReport, Strategy, Tenant
from app.settings import Settings

NAMED = 3
"""Missing documents that are named."""
Mode = Annotated[
    Literal["auto", "hybrid", "semantic", "lexical", "flat", "two_pass", "multihop", "vector", "text"],
    typer.Option(
        help="A mode of the API; flat: auto without entities; two_pass: auto with hierarchy force; multihop. "
        "vector and text: aliases of semantic and lexical."
    ),
]
Fusion = Annotated[Literal["auto", "rrf", "convex"], typer.Option(help="As in the API.")]
Hierarchy = Annotated[
    Literal["auto", "off", "force"],
    typer.Option(help="As in the API; not with flat and two_pass; multihop: force or off."),
]
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
    mode: Mode = "auto",
    fusion: Fusion = "auto",
    hierarchy: Hierarchy = "auto",
    boost: Annotated[bool, typer.Option("--boost/--no-boost", help="As in the API; flat: never.")] = True,
    alpha: Alpha = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Count the questions that the mode helps, harms and loses against flat.")
    ] = False,
    rerank: options.Rerank = "none",
    mmr: options.Mmr = False,
    collapse: options.Collapse = False,
    extractor: options.Extractor = "auto",
    merge: options.Merge = "linked",
    max_hops: Annotated[int, typer.Option(min=limits.MIN_HOPS, max=limits.MAX_HOPS, help="Only with multihop.")] = 2,
    calibration: Calibration = False,
    wrong: Wrong = None,
    user: User = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Ingest a set in BEIR layout, ask its questions and print the averaged metrics."""
    tenant = Tenant.of(str(folder.resolve())) if user is None else Tenant(options.check_user(user), exclusive=False)
    strategy = Strategy(
        "semantic" if mode == "vector" else "lexical" if mode == "text" else mode,
        fusion,
        hierarchy=hierarchy,
        boost=boost,
        alpha=alpha,
        compare=compare,
        rerank=rerank,
        term_method=extractor,
        merge=merge,
        max_hops=max_hops,
        mmr=mmr,
        collapse=collapse,
    )
    loaded, others = beir.load(folder), [question for other in wrong or () for question in beir.load(other).questions]
    _warn_of(loaded.missing)
    report = options.run(_evaluate(loaded, others, strategy, tenant, options.settings(data_dir)))
    title = f"{folder.name}, {strategy.mode}" + (f", reranked: {rerank}" if strategy.rerank != "none" else "")
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
        options.out.print("No hit has a relevance.")
        return
    for name, pairs in (("relevance", report.predictions.relevance), ("answerable", report.predictions.answerable)):
        found = metrics.measure_calibration(pairs)
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
    with Progress(console=options.err, transient=True) as bar:
        tasks = {stage: bar.add_task(stage, total=None) for stage in ("ingesting", "asking")}

        def show(stage: str, done: int, total: int) -> None:
            bar.update(tasks[stage], completed=done, total=total)

        async with runtime.open_services(settings) as services:
            return await runner.run(
                loaded, strategy, tenant, services=services, unanswerable=unanswerable, progress=show
            )
