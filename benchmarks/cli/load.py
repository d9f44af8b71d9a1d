"""Implements `load`: measures `stepwell serve` under closed loops of clients, a burst and unequal users."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from app import runtime
from app.cli import options
from app.config import Settings
from app.pipelines.maintenance import keys
from app.pipelines.running.services import Services
from benchmarks import folders
from benchmarks import load as loads
from benchmarks.load import LoadFigures, Target
from benchmarks.service import ROOT, Launch, serving
from benchmarks.speed import benchmark, corpus, passages, vectors
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.owner import owning

QUESTIONS = 2_000
COLUMNS = ("", "answers/s", "of best", "p50 ms", "p95 ms", "503", "other", "CPU ms", "loops", "models", "Postgres")
WIDTH = 140
PROJECTED = 4
"""Number of workers for which the answers per second are computed from the CPU time."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, how often, and on which checkouts."""

    clients: list[int]
    seconds: float
    rounds: int
    burst: int
    checkouts: list[Path]
    workers: list[int]
    settings: Mapping[str, str]


def load(
    chunks: Annotated[int, typer.Option(help="Number of chunks.", min=1_000)] = 10_000,
    clients: Annotated[str, typer.Option(help="Numbers of clients, separated by commas.")] = "1,4,16,64,256",
    seconds: Annotated[float, typer.Option(help="Length of each closed loop.", min=1)] = 10.0,
    rounds: Annotated[int, typer.Option(help="How often each checkout is measured, in turns.", min=1)] = 1,
    burst: Annotated[int, typer.Option(help="Searches sent at once.", min=2)] = 200,
    checkout: Annotated[
        list[Path] | None, typer.Option(help="Folder of another checkout to measure; repeat.", show_default="this one")
    ] = None,
    workers: Annotated[str, typer.Option(help="Numbers of workers, separated by commas, measured in turns.")] = "1",
    setting: Annotated[list[str] | None, typer.Option(help="A setting of the service, as NAME=VALUE; repeat.")] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Measure answers per second, latency and refusals under load, over a synthetic corpus."""
    settings = dict(one.split("=", 1) for one in setting or [])
    counts = [int(count) for count in clients.split(",")]
    options.out.width = max(options.out.width, WIDTH)
    numbers = [int(count) for count in workers.split(",")]
    plan = Plan(counts, seconds, rounds, burst, checkout or [ROOT], numbers, settings)
    with folders.data_dir(data_dir) as chosen:
        chosen.mkdir(parents=True, exist_ok=True)
        folders.open_to_server(chosen)
        options.run(_run(plan, chunks, options.settings(chosen), chosen))


async def _run(plan: Plan, chunks: int, settings: Settings, data_dir: Path) -> None:
    questions, heavy, light = await _prepared(chunks, settings, data_dir)
    for number, checkout, workers in itertools.product(range(plan.rounds), plan.checkouts, plan.workers):
        own = {"AUTH": "api_key"} | ({"STEPWELL_WORKERS": str(workers)} if workers > 1 else {})
        async with serving(Launch(data_dir, {**own, **plan.settings}, checkout.resolve())) as service:
            target = Target(service, data_dir, questions)
            before = service.memory_mb()
            rows = await _measured(plan, target, light=light, heavy=heavy)
            table = Table(*COLUMNS, title=f"{checkout}, workers: {workers}, round {number + 1}")
            best = max(rows[f"{clients} clients"].answers_per_s for clients in plan.clients)
            for name, figures in rows.items():
                table.add_row(name, *_row(figures, best))
            table.caption = f"{before:.0f}, then {service.memory_mb():.0f} MB; {_projection(list(rows.values()))}"
        options.out.print(table)


async def _measured(plan: Plan, target: Target, *, light: str, heavy: str) -> dict[str, LoadFigures]:
    """The figures of each closed loop, of the burst and of unequal users, by what they are called."""
    await loads.closed_loop(target, heavy, clients=4 * max(plan.workers), seconds=2.0)
    rows = {}
    for clients in plan.clients:
        rows[f"{clients} clients"] = await loads.closed_loop(target, heavy, clients=clients, seconds=plan.seconds)
    rows[f"burst of {plan.burst}"] = await loads.burst(target, heavy, searches=plan.burst)
    beside = await loads.light_beside_heavy(target, light=light, heavy=heavy, seconds=plan.seconds)
    rows[f"1 beside {loads.HEAVY_CLIENTS} of another user"] = beside
    return rows


def _row(figures: LoadFigures, best: float) -> list[str]:
    shares = (f"{figures.answers_per_s:.1f}", f"{figures.answers_per_s / best:.2f}")
    latencies = (f"{figures.p50_ms:.1f}", f"{figures.p95_ms:.1f}")
    cpu = (sum(figures.cpu_ms), *figures.cpu_ms)
    return [*shares, *latencies, str(figures.refused), str(figures.failed), *(f"{one:.1f}" for one in cpu)]


def _projection(rows: list[LoadFigures]) -> str:
    """What PROJECTED workers answer per second if each event loop has a core, the cores for all, and the CPU ratio."""
    cpu_ms = max(rows, key=lambda figures: figures.answers_per_s).cpu_ms
    rate = PROJECTED * 1000 / cpu_ms.loops
    cores = rate * sum(cpu_ms) / 1000
    ratio = sum(cpu_ms) / (cpu_ms.models + cpu_ms.postgres)
    by_cpu = f"{PROJECTED} workers by CPU time: {rate:.0f} answers/s on {cores:.1f} cores"
    return f"{by_cpu} ({rate / cores:.0f} a core); CPU time {ratio:.2f} times that of models and Postgres"


async def _prepared(chunks: int, settings: Settings, data_dir: Path) -> tuple[Iterator[str], str, str]:
    """Builds the corpus; returns distinct questions, and keys of the user with the corpus and of another one."""
    texts = passages.load(None)
    async with runtime.open_services(settings) as services, runtime.open_owner_dsn(settings) as owner_dsn:
        async with owning(owner_dsn) as owner:
            await benchmark.ensure_corpus(Parameters(chunks, QUESTIONS, texts), owner, services, data_dir)
            nowhere = vectors.unit(np.ones((1, services.embedder.model.dimension)))
            asked = await corpus.questions(owner, nowhere, chunks=chunks, count=QUESTIONS, seed=2)
        made = [await _key(user, services) for user in (corpus.USER, corpus.OTHER_USER)]
    numbered = (f"{' '.join(one.words)} {number}" for number, one in enumerate(itertools.cycle(asked)))
    return numbered, made[0], made[1]


async def _key(user_id: str, services: Services) -> str:
    grant = keys.Grant(("search",), name="load")
    return await keys.create(user_id, grant, db=services.owner or services.db, actor="load")
