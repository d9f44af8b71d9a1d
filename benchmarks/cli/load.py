"""Implements `load`: measures `stepwell serve` under closed loops of clients, a burst and unequal users."""

from __future__ import annotations

import itertools
import json
import statistics
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app.cli import options, terminal
from benchmarks import folders, pairs
from benchmarks import load as loads
from benchmarks.load import LoadFigures, Target
from benchmarks.service import ROOT, Launch, Service, serving
from benchmarks.speed import loading

COLUMNS = ("", "answers/s", "of best", "p50 ms", "p95 ms", "503", "other", "CPU ms", "loops", "models", "Postgres")
WIDTH = 140
SLICES = 8
"""Into how many parts a closed loop is divided where checkouts are compared."""
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
    fields: list[Mapping[str, object]]

    def data_dir(self, checkout: Path, data_dir: Path) -> Path:
        """The data dir of a checkout, whose schema may be another one's than that of the others."""
        return data_dir if len(self.checkouts) == 1 else data_dir / f"checkout-{self.checkouts.index(checkout)}"


@dataclass(frozen=True, slots=True)
class Corpus:
    """The data dir with a corpus, distinct questions about it, and keys of its user and of another one."""

    data_dir: Path
    questions: Iterator[str]
    heavy: str
    light: str

    def target(self, service: Service, fields: Mapping[str, object] | None = None) -> Target:
        """The corpus as a service serves it."""
        return Target(service, self.data_dir, self.questions, fields or {})


def load(
    chunks: Annotated[int, typer.Option(help="Number of chunks.", min=1_000)] = 10_000,
    clients: Annotated[str, typer.Option(help="Numbers of clients, separated by commas.")] = "1,4,16,64,256",
    seconds: Annotated[float, typer.Option(help="Length of each closed loop.", min=1)] = 10.0,
    rounds: Annotated[int, typer.Option(help="How often each checkout is measured, in turns.", min=1)] = 1,
    burst: Annotated[
        int,
        typer.Option(
            help="Searches sent at once; 0: leave out this and the users with unequal load, as with several checkouts.",
            min=0,
        ),
    ] = 200,
    fields: Annotated[
        list[str] | None, typer.Option(help="Fields of requests besides the query, as JSON; repeat.", show_default="{}")
    ] = None,
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
    terminal.out.width = max(terminal.out.width, WIDTH)
    numbers = [int(count) for count in workers.split(",")]
    kinds = [json.loads(one) for one in fields or ["{}"]]
    places = [one.resolve() for one in checkout or [ROOT]]
    plan = Plan(counts, seconds, rounds, burst, places, numbers, settings, kinds)
    with folders.data_dir(data_dir) as chosen:
        for folder in (chosen, *(plan.data_dir(one, chosen) for one in places)):
            folder.mkdir(parents=True, exist_ok=True)
            folders.open_to_server(folder)
        options.run(_run(plan, chunks, chosen))


async def _run(plan: Plan, chunks: int, data_dir: Path) -> None:
    corpora = {one: await _prepared(one, chunks, plan.data_dir(one, data_dir)) for one in plan.checkouts}
    if len(corpora) > 1:
        terminal.out.print(await _compared(plan, corpora))
        return
    ((checkout, corpus),) = corpora.items()
    for number, workers in itertools.product(range(plan.rounds), plan.workers):
        await _served(plan, checkout, corpus, workers, f"{checkout}, workers: {workers}, round {number + 1}")


async def _compared(plan: Plan, corpora: Mapping[Path, Corpus]) -> Table:
    """Measures each closed loop in slices, with the services of the checkouts in turns, which all run at once.

    The speed of a shared machine changes within seconds. Each round starts the services again, because two processes
    with the same code may differ by some percent.
    """
    found: dict[str, dict[Path, list[LoadFigures]]] = {}
    for _, workers in itertools.product(range(plan.rounds), plan.workers):
        async with AsyncExitStack() as stack:
            services = {
                checkout: await stack.enter_async_context(_serving(plan, checkout, corpus, workers))
                for checkout, corpus in corpora.items()
            }
            for fields, clients in itertools.product(plan.fields, plan.clients):
                slices: dict[Path, list[LoadFigures]] = {checkout: [] for checkout in corpora}
                for _, checkout in pairs.alternating(plan.checkouts, SLICES):
                    corpus, seconds = corpora[checkout], plan.seconds / SLICES
                    target = corpus.target(services[checkout], fields)
                    slices[checkout].append(
                        await loads.closed_loop(target, corpus.heavy, clients=clients, seconds=seconds)
                    )
                rows = found.setdefault(f"{_name(f'{clients} clients', fields)}, workers: {workers}", {})
                for checkout, figures in slices.items():
                    rows.setdefault(checkout, []).append(loads.combine(figures))
    return _ratios(found)


@asynccontextmanager
async def _serving(plan: Plan, checkout: Path, corpus: Corpus, workers: int) -> AsyncIterator[Service]:
    """Serves the corpus with the code of a checkout, warmed up."""
    own = {"AUTH": "api_key"} | ({"STEPWELL_WORKERS": str(workers)} if workers > 1 else {})
    async with serving(Launch(corpus.data_dir, {**own, **plan.settings}, checkout)) as service:
        await loads.closed_loop(corpus.target(service), corpus.heavy, clients=4 * workers, seconds=2.0)
        yield service


async def _served(plan: Plan, checkout: Path, corpus: Corpus, workers: int, title: str) -> None:
    """Measures the service of a checkout, and prints the figures."""
    async with _serving(plan, checkout, corpus, workers) as service:
        before, rows = service.memory_mb(), dict[str, LoadFigures]()
        for fields in plan.fields:
            rows |= await _measured(plan, corpus.target(service, fields), corpus, fields)
        table = Table(*COLUMNS, title=title)
        best = max(figures.answers_per_s for figures in rows.values())
        for name, figures in rows.items():
            table.add_row(name, *_row(figures, best))
        table.caption = f"{before:.0f}, then {service.memory_mb():.0f} MB; {_projection(list(rows.values()))}"
    terminal.out.print(table)


async def _measured(plan: Plan, target: Target, corpus: Corpus, fields: Mapping[str, object]) -> dict[str, LoadFigures]:
    """The figures of each closed loop, of the burst and of unequal users, by what they are called."""
    rows = {}
    for clients in plan.clients:
        figures = await loads.closed_loop(target, corpus.heavy, clients=clients, seconds=plan.seconds)
        rows[_name(f"{clients} clients", fields)] = figures
    if plan.burst:
        rows[_name(f"burst of {plan.burst}", fields)] = await loads.burst(target, corpus.heavy, searches=plan.burst)
        beside = await loads.light_beside_heavy(target, light=corpus.light, heavy=corpus.heavy, seconds=plan.seconds)
        rows[_name(f"1 beside {loads.HEAVY_CLIENTS} of another user", fields)] = beside
    return rows


def _name(what: str, fields: Mapping[str, object]) -> str:
    return f"{what} {json.dumps(fields)}" if fields else what


def _ratios(found: Mapping[str, Mapping[Path, Sequence[LoadFigures]]]) -> Table:
    """The medians of the rounds, and of the ratios to the first checkout in the same round with their intervals."""
    table = Table("", "checkout", "answers/s", "ratio", "CPU ms", "ratio", "503", "other", title="all rounds")
    for name, rows in found.items():
        of_first = next(iter(rows.values()))
        for checkout, figures in rows.items():
            rates, base_rates = ([one.answers_per_s for one in some] for some in (figures, of_first))
            cpu, base_cpu = ([sum(one.cpu_ms) for one in some] for some in (figures, of_first))
            rate_cells = f"{statistics.median(rates):.1f}", str(pairs.ratio(rates, base_rates))
            cpu_cells = f"{statistics.median(cpu):.1f}", str(pairs.ratio(cpu, base_cpu))
            failed = (str(sum(one.refused for one in figures)), str(sum(one.failed for one in figures)))
            table.add_row(name, str(checkout), *rate_cells, *cpu_cells, *failed)
    return table


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


async def _prepared(checkout: Path, chunks: int, data_dir: Path) -> Corpus:
    """Builds the corpus with the code of a checkout."""
    order = data_dir / "load.json"
    order.write_text(json.dumps({"chunks": chunks, "data_dir": str(data_dir)}), encoding="utf-8")
    made = await Launch(data_dir, checkout=checkout).printed(Path(loading.__file__), order)
    numbered = (f"{words} {number}" for number, words in enumerate(itertools.cycle(made["questions"])))
    return Corpus(data_dir, numbered, made["heavy"], made["light"])
