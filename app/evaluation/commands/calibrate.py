"""Implements `stepwell calibrate`: fits the relevance of a user's hits to judged questions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from app import errors, runtime
from app.cli import options, terminal
from app.cli.progress import Progress
from app.evaluation import beir, calibration
from app.evaluation.calibration import Effect, Fitted, Judgements
from app.relevance import calibrations
from app.settings import Settings

Folder = Annotated[
    Path | None,
    typer.Argument(
        help="A folder with queries.jsonl and qrels.tsv, whose documents are named by URI or id.", show_default=False
    ),
]
Unanswerable = Annotated[
    list[Path] | None,
    typer.Option(
        "--unanswerable",
        help="A folder whose queries.jsonl has questions that the documents do not answer, for `answerable`; "
        "repeatable.",
    ),
]


def calibrate(
    folder: Folder = None,
    reset: Annotated[bool, typer.Option("--reset", help="Remove the calibration.")] = False,
    unanswerable: Unanswerable = None,
    only_judged: Annotated[
        bool, typer.Option("--only-judged", help="Leave hits without a judgement out; without it they are irrelevant.")
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
        if as_json:
            terminal.write_json({"reset": True})
        else:
            options.out.print("The defaults are used again.")
        return
    foreign = [question for other in unanswerable or () for question in beir.read_questions(other)]
    given = Judgements(beir.read_judged_questions(folder), foreign, only_judged)
    fitted = options.run(_fit(given, user_id, settings, store=not dry_run))
    is_stored = fitted.helps and not dry_run
    if as_json:
        terminal.write_json({**_as_json(fitted), "stored": is_stored})
    else:
        _show(fitted, is_stored)


async def _reset(user_id: str, settings: Settings) -> None:
    async with runtime.open_services(settings, pool_size=2) as services:
        await calibrations.put(user_id, None, db=services.db)


async def _fit(given: Judgements, user_id: str, settings: Settings, *, store: bool) -> Fitted:
    with Progress(console=options.err, transient=True) as bar:
        task = bar.add_task("asking", total=None)
        async with runtime.open_services(settings) as services:
            fitted = await calibration.fit_user(
                given,
                user_id,
                services,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
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
            table.add_row(name, *_figures(effect))
    options.out.print(table)
    options.out.print("Measured on questions of other folds than those of the fit.")
    scales = fitted.stored.calibration
    named = {"relevance": scales.relevance, "over several hops": scales.hops, "answerable": scales.answerable}
    for name, scale in named.items():
        options.out.print(f"{name}: logit = {scale.intercept:.3f} + {scale.slope:.3f} · logit of the default")
    if fitted.answerable is None:
        options.out.print("`answerable` stays as it is: no judged question is without an answer; see --unanswerable.")
    if is_stored:
        options.out.print("Stored. `stepwell calibrate --reset` removes it.")
    else:
        options.out.print("Not stored" + ("." if fitted.helps else ": it is not better than the defaults."))


def _figures(effect: Effect) -> list[str]:
    before, after = effect.before, effect.after
    return [
        str(before.count),
        f"{before.base_rate:.2f}",
        f"{before.base_brier:.3f}",
        f"{before.brier:.3f}",
        f"{after.brier:.3f}",
        f"{before.ece:.3f}",
        f"{after.ece:.3f}",
    ]


def _as_json(fitted: Fitted) -> dict[str, Any]:
    stored, measured = fitted.stored, {"relevance": fitted.relevance, "answerable": fitted.answerable}
    return {
        "questions": stored.questions,
        "hits": stored.hits,
        "calibration": asdict(stored.calibration),
        "measured": {name: effect and asdict(effect) for name, effect in measured.items()},
    }
