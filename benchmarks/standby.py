"""Measures two services on a primary and its standby while one is away, and whether users find what they wrote."""

from __future__ import annotations

import asyncio
import functools
import itertools
import re
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import httpx

from app.providers.local import minilm
from app.store.embedded.postgres import EmbeddedPostgres
from app.store.maintenance import migration
from benchmarks import replication, service
from benchmarks.replication import Pair
from benchmarks.service import Launch
from benchmarks.soak import disruptions

CLIENTS = 2
WRITE_PAUSE_S = 0.25
VERSION = "X-Stepwell-Version"
WORDS = (
    "harbour",
    "mortar",
    "tide",
    "buoy",
    "ledger",
    "winter",
    "signal",
    "copper",
    "rope",
    "lantern",
    "gull",
    "quarry",
)
_READS = re.compile(r'^stepwell_db_reads_total\{reason="(\w+)",target="(\w+)"\} (\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """What clients got while both servers were up or one was away; `reads` are read transactions by target."""

    name: str
    searches: dict[int, int]
    writes: dict[int, int]
    p50_ms: float
    p95_ms: float
    longest_ms: float
    reads: dict[str, int]


@dataclass(frozen=True, slots=True)
class FreshnessFigures:
    """How many of `writes` documents a read right after the write did not find, by process and header."""

    writes: int
    same_process: int
    other_process: int
    other_process_with_version: int


@dataclass(slots=True)
class _Traffic:
    statuses: Counter[int] = field(default_factory=Counter)
    written: Counter[int] = field(default_factory=Counter)
    times_ms: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Installation:
    """A pair of servers, and clients of two services that use both."""

    pair: Pair
    first: httpx.AsyncClient
    second: httpx.AsyncClient
    texts: Iterator[str]


@asynccontextmanager
async def installed(folder: Path, documents: int) -> AsyncIterator[Installation]:
    """Starts primary, standby and two services, and stores documents."""
    async with AsyncExitStack() as stack:
        pair = await stack.enter_async_context(replication.running(folder, _prepare, hot_standby_feedback="on"))
        dsns = {"DATABASE_URL": pair.primary.service_dsn, "DATABASE_READ_URL": pair.standby.service_dsn}
        settings = {name: dsn.replace("+asyncpg", "") for name, dsn in dsns.items()}
        clients = []
        for number in range(2):
            launch = Launch(folder / f"service{number}", settings)
            running = await stack.enter_async_context(service.serving(launch))
            client = httpx.AsyncClient(base_url=running.address, trust_env=False, timeout=30.0)
            clients.append(await stack.enter_async_context(client))
        texts = (f"Note {n}: {' '.join(WORDS[(n * k) % len(WORDS)] for k in range(1, 60))}." for n in itertools.count())
        for _ in range(documents):
            (await clients[0].post("/api/rag/documents", json={"content": next(texts)})).raise_for_status()
        await pair.replayed()
        yield Installation(pair, clients[0], clients[1], texts)


async def _prepare(primary: EmbeddedPostgres) -> None:
    await migration.upgrade(primary.owner_dsn, model=minilm.MODEL.name, dimension=minilm.MODEL.dimension)


async def freshness(installation: Installation, writes: int) -> FreshnessFigures:
    """Writes documents through the first service and reads each at once through both."""
    missed: Counter[str] = Counter()
    for _ in range(writes):
        stored = await installation.first.post("/api/rag/documents", json={"content": next(installation.texts)})
        path = f"/api/rag/documents/{stored.json()['document_id']}"
        reads = {
            "other": installation.second.get(path),
            "same": installation.first.get(path),
            "with_version": installation.second.get(path, headers={VERSION: stored.headers[VERSION]}),
        }
        for name, reading in reads.items():
            missed[name] += (await reading).status_code == HTTPStatus.NOT_FOUND
    return FreshnessFigures(writes, missed["same"], missed["other"], missed["with_version"])


async def outages(installation: Installation, seconds: float) -> AsyncIterator[PhaseFigures]:
    """The figures of seven phases of `seconds`: both servers up, and between them one stopped or frozen."""
    pair = installation.pair
    yield await _phase("both", installation, seconds)
    await pair.standby.stop()
    yield await _phase("standby away", installation, seconds)
    await pair.standby.start()
    yield await _phase("both again", installation, seconds)
    with disruptions.frozen(pair.standby._server.layout.base):
        yield await _phase("standby frozen", installation, seconds)
    yield await _phase("both once more", installation, seconds)
    await pair.primary.stop()
    yield await _phase("primary away", installation, seconds)
    await pair.start_primary()
    yield await _phase("both at the end", installation, seconds)


async def _phase(name: str, installation: Installation, seconds: float) -> PhaseFigures:
    before, traffic = await _reads(installation.first), _Traffic()
    ends = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for number in range(CLIENTS):
            group.create_task(_repeated(ends, functools.partial(_search, installation, traffic, number)))
        group.create_task(_repeated(ends, functools.partial(_write, installation, traffic)))
    cuts = statistics.quantiles(traffic.times_ms, n=20)
    reads = await _reads(installation.first) - before
    statuses = dict(traffic.statuses), dict(traffic.written)
    return PhaseFigures(name, *statuses, cuts[9], cuts[18], max(traffic.times_ms), dict(reads))


async def _repeated(ends: float, work: Callable[[], Awaitable[None]]) -> None:
    while time.monotonic() < ends:
        await work()


async def _search(installation: Installation, traffic: _Traffic, number: int) -> None:
    query = f"{WORDS[len(traffic.times_ms) % len(WORDS)]} {number} {len(traffic.times_ms)}"
    began = time.perf_counter()
    answer = await installation.first.post("/api/rag/search", json={"query": query})
    traffic.times_ms.append((time.perf_counter() - began) * 1000)
    traffic.statuses[answer.status_code] += 1


async def _write(installation: Installation, traffic: _Traffic) -> None:
    answer = await installation.first.post("/api/rag/documents", json={"content": next(installation.texts)})
    traffic.written[answer.status_code] += 1
    await asyncio.sleep(WRITE_PAUSE_S)


async def _reads(client: httpx.AsyncClient) -> Counter[str]:
    """Read transactions so far by target and reason."""
    found = _READS.findall((await client.get("/metrics")).text)
    return Counter({f"{target}: {reason}": int(count) for reason, target, count in found})
