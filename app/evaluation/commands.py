"""Implements `stepwell eval` and `stepwell calibrate`: measures retrieval on a set, fits relevance to judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from app import errors, runtime
from app.cli import json_arguments, options, terminal
from app.cli.progress import Progress
from app.evaluation import beir, calibration, metrics, runner
from app.evaluation.calibration import Fitted, Judgements
from app.evaluation.runner import EvaluationMode, EvaluationReport, Strategy, Tenant
from app.query.search_request import Ranking
from app.relevance import calibration_store as calibrations
from app.settings import Settings

NAMED = 3
"""Most missing documents that the warning names."""


def evaluate(
    folder: Annotated[
        Path, typer.Argument(help="A folder with corpus.jsonl, queries.jsonl and qrels.tsv or qrels/test.tsv.")
    ],
    mode: Annotated[
        EvaluationMode,
        typer.Option(
            help="A mode of the API; flat: auto without entities; two_pass: auto with entities forced; multihop."
        ),
    ] = "auto",
    ranking: Annotated[
        str, typer.Option(metavar="JSON", help='What tunes the search, as in the API: \'{"rerank": "cosine"}\'.')
    ] = "{}",
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration", help="Print how well the relevance of the first ten hits and `answerable` are calibrated."
        ),
    ] = False,
    wrong: Annotated[
        list[Path] | None,
        typer.Option(help="A folder whose queries.jsonl has questions that this set does not answer; repeatable."),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Whose documents the set joins.", show_default="a user of its own")
    ] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Ingest a set in BEIR layout, ask its questions and print the averaged metrics."""
    tenant = Tenant.of(str(folder.resolve())) if user is None else Tenant(options.check_user(user), exclusive=False)
    strategy = Strategy(mode, json_arguments.parse(ranking, Ranking, field="ranking"))
    loaded, others = beir.load(folder), [question for other in wrong or () for question in beir.read_questions(other)]
    if not loaded.questions:
        message = f"No question has a relevant document: compare the ids in {beir.QUERIES} and {beir.QRELS}."
        raise errors.BadRequest(message, field="FOLDER")
    if missing := loaded.missing:
        named = ", ".join(missing[:NAMED]) + (", …" if len(missing) > NAMED else "")
        count = "1 relevant document is" if len(missing) == 1 else f"{len(missing)} relevant documents are"
        warning = f"{count} not in the corpus, so no search finds them: {escape(named)}"
        terminal.err.print(f"[yellow]Warning:[/] {warning}", soft_wrap=True)
    report = options.run(_evaluate(loaded, others, strategy, tenant, options.settings(data_dir)))
    title = escape(f"{folder.name}, {mode}" + ("" if ranking == "{}" else f", {ranking}"))
    terminal.end_with_json(report.as_json(), wanted=as_json)
    _show_report(report, title)
    if calibration:
        _show_calibration(report)


def _show_calibration(report: EvaluationReport) -> None:
    if report.predictions is None:
        terminal.out.print("No hit has a relevance.")
        return
    for name, pairs in (("relevance", report.predictions.relevance), ("answerable", report.predictions.answerable)):
        found = metrics.measure_calibration(pairs)
        auroc = "–" if found.auroc is None else f"{found.auroc:.3f}"
        table = Table("predicted", "observed", "number", title=f"{name} of {found.count}")
        for each in found.bins:
            table.add_row(f"{each.mean:.3f}", f"{each.observed:.3f}", f"{each.count}")
        terminal.out.print(table)
        brier = f"{found.brier:.4f} (of the base rate: {found.base_brier:.4f})"
        terminal.out.print(f"ECE {found.ece:.3f}, AUROC {auroc}, Brier score {brier}")


def _show_report(report: EvaluationReport, title: str) -> None:
    table = Table("metric", "value", title=title)
    for name, value in report.totals().items():
        table.add_row(name, f"{value}")
    terminal.out.print(table)
    if report.kinds:
        kinds = Table("type", "queries", "ndcg@10", "recall@5", title="by type of question")
        for kind, means in report.kinds.items():
            kinds.add_row(escape(kind), f"{means['queries']}", f"{means['ndcg@10']}", f"{means['recall@5']}")
        terminal.out.print(kinds)


async def _evaluate(
    loaded: beir.EvaluationSet,
    unanswerable: Sequence[beir.JudgedQuestion],
    strategy: Strategy,
    tenant: Tenant,
    settings: Settings,
) -> EvaluationReport:
    with Progress(console=terminal.err, transient=True) as bar:
        tasks = {stage: bar.add_task(stage, total=None) for stage in ("ingesting", "asking")}

        def show(stage: str, done: int, total: int) -> None:
            bar.update(tasks[stage], completed=done, total=total)

        async with runtime.open_services(settings) as services:
            return await runner.run(
                loaded, strategy, tenant, services=services, unanswerable=unanswerable, progress=show
            )


def calibrate(
    folder: Annotated[
        Path | None,
        typer.Argument(help="A folder with queries.jsonl and qrels.tsv, whose documents are named by URI or id."),
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Remove the calibration.")] = False,
    unanswerable: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder whose queries.jsonl has questions that the documents do not answer, for `answerable`; "
            "repeatable.",
        ),
    ] = None,
    only_judged: Annotated[
        bool,
        typer.Option("--only-judged", help="Leave out hits without a judgement; by default they count as irrelevant."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure only.")] = False,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Fit the relevance of hits to judged questions on your own documents, and print its error before and after.

    The calibration is stored if it is better on questions that it was not fitted to.
    """
    if (folder is None) != reset:
        raise errors.BadRequest("Give a folder, or --reset.", field="FOLDER")
    user_id, settings = options.check_user(user), options.settings(data_dir)
    if folder is None:
        options.run(_reset(user_id, settings))
        terminal.end_with_json({"reset": True}, wanted=as_json)
        terminal.out.print("The defaults are used again.")
        return
    foreign = [question for other in unanswerable or () for question in beir.read_questions(other)]
    given = Judgements(beir.read_judged_questions(folder), foreign, only_judged)
    fitted = options.run(_fit(given, user_id, settings, store=not dry_run))
    is_stored = fitted.helps and not dry_run
    measured = {"relevance": fitted.relevance, "answerable": fitted.answerable}
    shown = {
        "questions": fitted.stored.questions,
        "hits": fitted.stored.hits,
        "calibration": asdict(fitted.stored.calibration),
        "measured": {name: effect and asdict(effect) for name, effect in measured.items()},
        "stored": is_stored,
    }
    terminal.end_with_json(shown, wanted=as_json)
    _show(fitted, is_stored)


async def _reset(user_id: str, settings: Settings) -> None:
    async with runtime.open_services(settings, pool_size=2) as services:
        await calibrations.put(user_id, None, db=services.db)


async def _fit(given: Judgements, user_id: str, settings: Settings, *, store: bool) -> Fitted:
    with Progress(console=terminal.err, transient=True) as bar:
        task = bar.add_task("asking", total=None)
        async with runtime.open_services(settings) as services:
            fitted = await calibration.fit_user(
                given, user_id, services, progress=lambda done, total: bar.update(task, completed=done, total=total)
            )
            if store and fitted.helps:
                await calibrations.put(user_id, fitted.stored, db=services.db)
            return fitted


def _show(fitted: Fitted, is_stored: bool) -> None:
    table = Table(
        Column(no_wrap=True), "number", "base rate", "Brier of it", "Brier before", "after", "ECE before", "after"
    )
    for name, effect in (("relevance", fitted.relevance), ("answerable", fitted.answerable)):
        if effect is not None:
            before, after = effect.before, effect.after
            errors_of = (before.base_brier, before.brier, after.brier, before.ece, after.ece)
            table.add_row(name, str(before.count), f"{before.base_rate:.2f}", *(f"{one:.3f}" for one in errors_of))
    terminal.out.print(table)
    terminal.out.print("Measured on questions of other folds than those of the fit.")
    scales = fitted.stored.calibration
    named = {"relevance": scales.relevance, "over several hops": scales.hops, "answerable": scales.answerable}
    for name, scale in named.items():
        terminal.out.print(f"{name}: logit = {scale.intercept:.3f} + {scale.slope:.3f} · logit of the default")
    if fitted.answerable is None:
        terminal.out.print("`answerable` stays as it is: no judged question is without an answer; see --unanswerable.")
    if is_stored:
        terminal.out.print("Stored. `stepwell calibrate --reset` removes it.")
    else:
        terminal.out.print("Not stored" + ("." if fitted.helps else ": it is not better than the defaults."))
