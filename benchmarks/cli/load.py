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
from app.pipelines import keys
from app.pipelines.services import Services
from benchmarks import folders
from benchmarks import load as loads
from benchmarks.load import LoadFigures, Target
from benchmarks.service import ROOT, Launch, serving
from benchmarks.speed import benchmark, corpus, passages, vectors
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.owner import owning

QUESTIONS = 2_000
COLUMNS = ("", "answers/s", "p50 ms", "p95 ms", "503", "other", "CPU ms")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, how often, and on which checkouts."""

    clients: list[int]
    seconds: float
    rounds: int
    burst: int
    checkouts: list[Path]
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
    setting: Annotated[list[str] | None, typer.Option(help="A setting of the service, as NAME=VALUE; repeat.")] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Measure answers per second, latency and refusals under load, over a synthetic corpus."""
    settings = dict(one.split("=", 1) for one in setting or [])
    counts = [int(count) for count in clients.split(",")]
    plan = Plan(counts, seconds, rounds, burst, checkout or [ROOT], settings)
    with folders.data_dir(data_dir) as chosen:
        chosen.mkdir(parents=True, exist_ok=True)
        folders.open_to_server(chosen)
        options.run(_run(plan, chunks, options.settings(chosen), chosen))


async def _run(plan: Plan, chunks: int, settings: Settings, data_dir: Path) -> None:
    questions, heavy, light = await _prepared(chunks, settings, data_dir)
    for number, checkout in itertools.product(range(plan.rounds), plan.checkouts):
        launch = Launch(data_dir, {"AUTH": "api_key", **plan.settings}, checkout.resolve())
        async with serving(launch) as service:
            target = Target(service, data_dir, questions)
            await loads.closed_loop(target, heavy, clients=4, seconds=2.0)
            table = Table(*COLUMNS, title=f"{checkout}, round {number + 1}")
            for clients in plan.clients:
                figures = await loads.closed_loop(target, heavy, clients=clients, seconds=plan.seconds)
                table.add_row(f"{clients} clients", *_row(figures))
            table.add_row(f"burst of {plan.burst}", *_row(await loads.burst(target, heavy, searches=plan.burst)))
            beside = await loads.light_beside_heavy(target, light=light, heavy=heavy, seconds=plan.seconds)
            table.add_row(f"1 beside {loads.HEAVY_CLIENTS} of another user", *_row(beside))
            table.caption = f"{service.memory_mb():.0f} MB"
        options.out.print(table)


def _row(figures: LoadFigures) -> list[str]:
    rates = (figures.answers_per_s, figures.p50_ms, figures.p95_ms)
    counts = (figures.refused, figures.failed)
    return [*(f"{rate:.1f}" for rate in rates), *(str(count) for count in counts), f"{figures.cpu_ms:.1f}"]


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
