"""Implements `answers`: measures the CPU time of an answer without the model, on several checkouts in turns."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app import runtime
from app.cli import options
from app.config import Settings
from benchmarks import folders
from benchmarks.cli import corpora
from benchmarks.service import ROOT, Launch
from benchmarks.speed import answering, benchmark, corpus, passages
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.corpus import BenchmarkQuestion
from benchmarks.speed.owner import owning

VECTORS = 50
KINDS: Mapping[str, Mapping[str, object]] = {
    "default": {},
    "without entities": {"hierarchy": "off", "boost": False},
    "several hops": {"depth": "thorough"},
}
"""The kinds of requests, with their fields besides the query."""
Figures = dict[str, dict[str, float]]


def answers(
    chunks: corpora.Chunks = 2_800,
    questions: Annotated[int, typer.Option("--queries", help="Answers of each kind in a round.", min=10)] = 200,
    rounds: Annotated[int, typer.Option(help="How often each checkout is measured, in turns.", min=1)] = 5,
    checkout: Annotated[
        list[Path] | None, typer.Option(help="Folder of another checkout to measure; repeat.", show_default="this one")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Measure the CPU time of an answer in the event loop and in Postgres, over a synthetic corpus.

    The vectors of the queries are given and no socket is used, so the model and the server's protocol do not count.
    """
    checkouts = [one.resolve() for one in checkout or [ROOT]]
    with folders.data_dir(data_dir) as chosen:
        chosen.mkdir(parents=True, exist_ok=True)
        folders.open_to_server(chosen)
        figures = options.run(_run(checkouts, rounds, Parameters(chunks, questions, passages.load(None)), chosen))
    for kind in KINDS:
        options.out.print(_table(kind, {place: [one[kind] for one in found] for place, found in figures.items()}))


async def _run(checkouts: list[Path], rounds: int, parameters: Parameters, data_dir: Path) -> dict[Path, list[Figures]]:
    order = data_dir / "answers.json"
    order.write_text(json.dumps(await _order(parameters, options.settings(data_dir), data_dir)), encoding="utf-8")
    found: dict[Path, list[Figures]] = {one: [] for one in checkouts}
    for _ in range(rounds):
        for one in checkouts:
            found[one].append(await _measured(one, order))
    return found


async def _order(parameters: Parameters, settings: Settings, data_dir: Path) -> dict[str, object]:
    """Builds the corpus; returns what the measuring process reads."""
    few = Parameters(parameters.chunks, VECTORS, parameters.passages)
    count = parameters.questions + answering.WARM_UPS
    async with (
        runtime.open_services(settings) as services,
        runtime.open_owner_dsn(settings) as owner_dsn,
        owning(owner_dsn) as owner,
    ):
        await benchmark.ensure_corpus(parameters, owner, services, data_dir)
        vectors = await benchmark.held_out_vectors(few, services)
        asked = await corpus.questions(owner, vectors, chunks=parameters.chunks, count=count, seed=2)
    bodies = {kind: [_body(one, fields) for one in asked] for kind, fields in KINDS.items()}
    return {"data_dir": str(data_dir), "user": corpus.USER, "vectors": vectors.tolist(), "bodies": bodies}


def _body(question: BenchmarkQuestion, fields: Mapping[str, object]) -> str:
    words = [question.name, *question.words] if "depth" in fields else question.words
    return json.dumps({"query": " ".join(words), **fields})


async def _measured(checkout: Path, order: Path) -> Figures:
    """Runs this checkout's measuring file with the code of a checkout. Raises StepwellError."""
    found: Figures = await Launch(order.parent, checkout=checkout).printed(Path(answering.__file__), order)
    return found


def _table(kind: str, figures: Mapping[Path, list[dict[str, float]]]) -> Table:
    """The medians of the rounds, and the median of the ratios to the first checkout in the same round."""
    table = Table("checkout", "loop ms", "ratio", "Postgres ms", "ratio", title=f"CPU time of an answer, {kind}")
    first = next(iter(figures.values()))
    for checkout, rounds in figures.items():
        row = []
        for part in ("loop", "postgres"):
            ratio = statistics.median(one[part] / base[part] for one, base in zip(rounds, first, strict=True))
            row += [f"{statistics.median(one[part] for one in rounds):.2f}", f"{ratio:.3f}"]
        table.add_row(str(checkout), *row)
    return table
