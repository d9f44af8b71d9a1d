"""`stepwell bench`: how fast and how faithful are the statements, at which size?"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from app import config, errors, runtime
from app.cli import options
from app.config import Settings
from app.proof import bench as proof
from app.proof import bench_passages, bench_report, bench_vectors
from app.proof.bench import Order, Report

FEWEST_CHUNKS = 100


def bench(
    chunks: Annotated[list[str] | None, typer.Option(help="How many chunks; repeat, or separate by commas.")] = None,
    questions: Annotated[int, typer.Option("--queries", help="How many questions.", min=10)] = 100,
    passages: Annotated[
        Path | None,
        typer.Option(help="Real texts behind the vectors: BEIR layout, or .txt and .md.", show_default="sample notes"),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Where the corpora go, a folder each.", show_default="temporary")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the corpora for another run.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Build corpora of made-up chunks in a Postgres of their own, time every statement, and compare with the exact."""
    sizes = _sizes(chunks or ["20000"])
    found = bench_passages.load(passages)
    with _room(data_dir, keep=keep) as room:
        reports = [_measured(Order(size, questions, found), room, keep=keep) for size in sizes]
    if as_json:
        lines = [{**dataclasses.asdict(line), "verdict": line.verdict} for line in bench_report.budgets(reports)]
        typer.echo(json.dumps({"sizes": [report.as_json() for report in reports], "budgets": lines}))
    else:
        for table in _tables(reports):
            options.out.print(table)


def _sizes(given: Sequence[str]) -> list[int]:
    try:
        sizes = sorted({int(number.replace("_", "")) for numbers in given for number in numbers.split(",")})
    except ValueError as error:
        raise errors.BadRequest("Give numbers of chunks such as 20000,100000.", field="chunks") from error
    if sizes[0] < FEWEST_CHUNKS:
        raise errors.BadRequest(f"A corpus holds at least {FEWEST_CHUNKS} chunks.", field="chunks")
    return sizes


@contextmanager
def _room(data_dir: Path | None, *, keep: bool) -> Iterator[Path]:
    """The folder of the corpora; a temporary one goes when all is done, unless it is to be kept."""
    room = data_dir or Path(tempfile.mkdtemp(prefix="stepwell-bench-"))
    room.mkdir(parents=True, exist_ok=True)
    if data_dir is None:
        _open_to_the_server(room)
    options.err.print(f"The corpora are in {room}.")
    try:
        yield room.absolute()
    finally:
        if data_dir is None and not keep:
            shutil.rmtree(room)


def _measured(order: Order, room: Path, *, keep: bool) -> Report:
    folder = room / f"chunks-{order.chunks}"
    was_there = folder.exists()
    if not was_there:
        folder.mkdir()
        _open_to_the_server(folder)
    settings = options.settings().model_copy(
        update={"data_dir": folder, "database_url": None, "migration_url": None, "write_timeout_s": 3600.0}
    )
    try:
        return options.run(_run(order, settings, folder))
    finally:
        if not (keep or was_there):
            shutil.rmtree(folder)


def _open_to_the_server(folder: Path) -> None:
    """As root the server runs as somebody else, who must pass."""
    folder.chmod(0o711)


async def _run(order: Order, settings: Settings, folder: Path) -> Report:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=options.err, transient=True) as bar:
        tasks = {"": bar.add_task(f"{order.chunks:,} chunks", total=None)}

        def shown(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage)
            bar.update(tasks[stage], completed=done, total=total)

        async with runtime.open_services(settings) as services, runtime.open_owner_dsn(settings) as owner_dsn:
            return await proof.run(
                order,
                services=services,
                owner_dsn=owner_dsn,
                folder=folder,
                environment=config.environment(),
                progress=shown,
            )


def _tables(reports: Sequence[Report]) -> Iterator[Table]:
    yield _growth(reports)
    yield _faithful(reports)
    for report in reports:
        yield _distances(report)
    yield _budgets(reports)


def _growth(reports: Sequence[Report]) -> Table:
    table = Table("p50 / p95 in ms", *(f"{report.chunks:,}" for report in reports), title="Growth")
    for name in reports[0].timings:
        timings = [report.timings[name] for report in reports]
        table.add_row(name, *(f"{timing.p50:.2f} / {timing.p95:.2f}" for timing in timings))
    if all(report.whole for report in reports):
        whole = [report.whole for report in reports if report.whole]
        for path, timings in (("", [w.request for w in whole]), ("/multihop", [w.multihop for w in whole])):
            row = (f"{timing.p50:.2f} / {timing.p95:.2f}" for timing in timings)
            table.add_row(f"POST /api/rag/search{path}", *row)
    table.add_section()
    for ratio in reports[0].ratios:
        table.add_row(ratio, *(f"{report.ratios[ratio]:.2f} ×" for report in reports))
    return table


def _faithful(reports: Sequence[Report]) -> Table:
    table = Table("", *(f"{report.chunks:,}" for report in reports), title="What is found")
    for percent in reports[0].recall:
        table.add_row(f"recall@20, {percent:g} % pass", *(f"{report.recall[percent]:.3f}" for report in reports))
    table.add_row("top-10 overlap with exact BM25", *(f"{report.overlap:.3f}" for report in reports))
    table.add_row("rows that OR matches, p50", *(f"{report.matches_or:,}" for report in reports))
    table.add_row("rows that AND matches, p50", *(f"{report.matches_and:,}" for report in reports))
    table.add_row("the textbook's plan", *(report.textbook_plan for report in reports))
    table.add_row("on disk, MB", *(f"{report.disk.whole:,.0f}" for report in reports))
    table.add_row("built in, s", *(f"{report.corpus.built_s:,.0f}" for report in reports))
    return table


def _distances(report: Report) -> Table:
    shares = [f"{share:.0%}" for share in bench_vectors.QUANTILES]
    table = Table("cosine distance", *shares, title=f"Vectors, {report.chunks:,} chunks")
    for kind, found in (("real", report.corpus.real), ("made up", report.corpus.made)):
        table.add_row(f"{kind}, nearest in a sample", *(f"{value:.3f}" for value in found.nearest))
        table.add_row(f"{kind}, random pairs", *(f"{value:.3f}" for value in found.random))
    return table


def _budgets(reports: Sequence[Report]) -> Table:
    table = Table("budget", "figure", "must", "strive", "", title="SPEC §14")
    for line in bench_report.budgets(reports):
        sign = "≥" if line.at_least else "≤"
        must = "–" if line.must is None else f"{sign} {line.must:g}"
        table.add_row(line.what, f"{line.figure:g}", must, f"{sign} {line.strive:g}", line.verdict)
    return table
