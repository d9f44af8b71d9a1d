"""Implements `ingest`: measures the speed of storing documents against the model's, and the memory that it takes."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from app import runtime
from app.cli import options, terminal
from app.database import transactions
from app.database.embedded import postgres
from app.database.schema import migration
from app.documents.types import Upload
from app.evaluation import beir
from app.services import Services
from benchmarks import folders, pairs
from benchmarks.ingest import memory, speed, storing, synthetic
from benchmarks.ingest.memory import MemoryRun, MemoryTarget, UnrecordedFake
from benchmarks.ingest.speed import Rate
from benchmarks.service import Launch

POINTS = 10
Stored = dict[str, float]
"""What `storing` prints."""


def ingest(
    documents: Annotated[int, typer.Option(help="Documents to store in each round; 0: leave out the speed.")] = 1_000,
    notes: Annotated[int, typer.Option(help="Notes in each of these documents.", min=1)] = 1,
    corpus: Annotated[Path | None, typer.Option(help="Divide a set in BEIR layout among the rounds.")] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of the speed.", min=1)] = 3,
    folder_mb: Annotated[int, typer.Option(help="Size of the folder of files; 0: leave it out.")] = 500,
    document_mb: Annotated[int, typer.Option(help="Size of the large document; 0: leave it out.")] = 50,
    checkout: Annotated[
        list[Path] | None, typer.Option(help="Folder of a checkout whose speed to compare instead, in turns; repeat.")
    ] = None,
) -> None:
    """Compare the speed of storing with the embedding model's alone, and sample the memory of large ingests.

    With checkouts, compare their speeds of storing with each other only.
    """
    if checkout:
        uploads = _uploads(corpus, documents * notes * rounds + speed.WARM_UP)
        first, longer = uploads[: speed.WARM_UP], speed.joined(uploads[speed.WARM_UP :], notes)
        parts = [longer[place::rounds] for place in range(rounds)]
        with folders.temporary() as temporary:
            options.run(_compare([one.resolve() for one in checkout], first, parts, temporary))
        return
    if documents:
        with folders.data_dir(None) as chosen:
            longer = speed.joined(_uploads(corpus, documents * notes * rounds), notes)
            if len(longer) < rounds:
                message = f"There are {len(longer)} documents for {rounds} rounds."
                raise typer.BadParameter(message, param_hint="--rounds")
            options.run(_speed(longer, rounds, chosen))
    if folder_mb or document_mb:
        with folders.temporary() as temporary:
            options.run(_memory(temporary, folder_mb, document_mb))


def _uploads(corpus: Path | None, most: int) -> Sequence[Upload]:
    if corpus is None:
        return synthetic.notes(most)
    return beir.load(corpus).documents[:most]


async def _compare(
    checkouts: Sequence[Path], first: Sequence[Upload], parts: Sequence[Sequence[Upload]], temporary: Path
) -> None:
    """Stores each part with the code of each checkout, in a database of its own."""
    data_dirs = {one: temporary / f"data-{number}" for number, one in enumerate(checkouts)}
    found: dict[Path, dict[int, Stored]] = {one: {} for one in checkouts}
    order = temporary / "storing.json"
    for number, one in pairs.alternating(checkouts, len(parts)):
        rows = {"first": [_row(upload) for upload in first], "uploads": [_row(upload) for upload in parts[number]]}
        order.write_text(json.dumps({"data_dir": str(data_dirs[one]), **rows}), encoding="utf-8")
        found[one][number] = await Launch(data_dirs[one], checkout=one).printed(Path(storing.__file__), order)
        terminal.out.print(f"{one}, round {number + 1}: {_rate(found[one][number]):.1f} chunks/s", soft_wrap=True)
    terminal.out.print(_ratios({one: [rounds[n] for n in sorted(rounds)] for one, rounds in found.items()}))


def _row(upload: Upload) -> dict[str, Any]:
    """The fields of an upload that a checkout of any age has."""
    created_at = upload.created_at and upload.created_at.isoformat()
    names = ("content", "title", "uri", "metadata", "markdown")
    return {**{name: getattr(upload, name) for name in names}, "created_at": created_at}


def _rate(stored: Stored) -> float:
    return stored["chunks"] / stored["wall_s"]


def _ratios(found: Mapping[Path, Sequence[Stored]]) -> Table:
    """The medians of the rounds, and of the ratios to the first checkout in the same round with their intervals."""
    table = Table("checkout", "chunks/s", "ratio", "CPU ms a chunk", "of it Postgres", "ratio")
    first = next(iter(found.values()))
    for checkout, rounds in found.items():
        cpu, base_cpu = ([one["cpu_s"] + one["postgres_s"] for one in some] for some in (rounds, first))
        rates, base_rates = ([_rate(one) for one in some] for some in (rounds, first))
        a_chunk, postgres = (
            1_000 * statistics.median(used / one["chunks"] for used, one in zip(times, rounds, strict=True))
            for times in (cpu, [one["postgres_s"] for one in rounds])
        )
        numbers = f"{statistics.median(rates):.1f}", f"{a_chunk:.1f}", f"{postgres:.1f}"
        speed_ratio, cpu_ratio = str(pairs.ratio(rates, base_rates)), str(pairs.ratio(cpu, base_cpu))
        table.add_row(str(checkout), numbers[0], speed_ratio, numbers[1], numbers[2], cpu_ratio)
    return table


async def _speed(uploads: Sequence[Upload], rounds: int, data_dir: Path) -> None:
    async with runtime.open_services(options.settings(data_dir)) as services:
        compared = await speed.compare(uploads, services, data_dir, rounds=rounds)
    for name, rates in (("model alone", compared.model), ("stored", compared.stored)):
        for rate in rates:
            terminal.out.print(f"{name}: {_shown(rate)}")
    terminal.out.print(
        f"storing has {compared.of_model:.2f} of the model's speed, {compared.of_model_by_cpu:.2f} by CPU time"
    )


def _shown(rate: Rate) -> str:
    service, postgres = (1_000 * seconds / rate.chunks for seconds in (rate.cpu_s, rate.postgres_s))
    return (
        f"{rate.documents / rate.wall_s:.1f} documents/s, {rate.chunks / rate.wall_s:.1f} chunks/s; a chunk takes "
        f"{service:.1f} ms of the service's CPU time and {postgres:.1f} ms of Postgres'; "
        f"{rate.statements / rate.documents:.1f} statements a document"
    )


async def _memory(temporary: Path, folder_mb: int, document_mb: int) -> None:
    async with postgres.EmbeddedPostgres(temporary / "data") as server:
        fake = UnrecordedFake()
        await migration.upgrade(server.owner_dsn, model=fake.model.name, dimension=fake.model.dimension)
        database = transactions.connect(server.service_dsn)
        assert server.postmaster_pid is not None
        target = MemoryTarget(Services(database, fake), server.postmaster_pid)
        try:
            if folder_mb:
                files = temporary / "files"
                files.mkdir()
                _print(f"folder of {folder_mb} MB", await memory.of_folder(files, folder_mb, target))
            if document_mb:
                _print(f"document of {document_mb} MB", await memory.of_document(document_mb, target))
        finally:
            await database.close()


def _print(name: str, run: MemoryRun) -> None:
    terminal.out.print(f"{name}, {run.took_s:.0f} s; memory in MB before it, and in tenths of the time:")
    for part, curve in run.curves.items():
        sizes = " ".join(f"{size:.0f}" for size in curve.at(POINTS))
        terminal.out.print(f"{part}: {curve.before:.0f}, then {sizes}; {curve.grown:+.0f} MB at most", soft_wrap=True)
