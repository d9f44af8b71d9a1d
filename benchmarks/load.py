"""Measures a running service under load: closed loops of clients, a burst, and a light client beside heavy ones."""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.service import Service

SEARCH = "/api/rag/search"
HEAVY_CLIENTS = 32


@dataclass(frozen=True, slots=True)
class Reply:
    """The status of one response and the milliseconds until it was read."""

    status: int
    took_ms: float


class CpuTime(NamedTuple):
    """CPU time of the event loops of the service, of its other threads (the model), and of Postgres."""

    loops: float
    models: float
    postgres: float

    def since(self, before: CpuTime, *, answers: float) -> CpuTime:
        """Returns the milliseconds per answer of the time since `before`, both in seconds."""
        return CpuTime(*(1000 * (now - then) / max(1, answers) for now, then in zip(self, before, strict=True)))


@dataclass(frozen=True, slots=True)
class LoadFigures:
    """What a number of clients got: answers per second, latencies of answers, refusals (503), other failures.

    `cpu_ms` is the CPU time per answer.
    """

    clients: int
    answers_per_s: float
    p50_ms: float
    p95_ms: float
    refused: int
    failed: int
    cpu_ms: CpuTime


@dataclass(frozen=True, slots=True)
class Target:
    """A service, its data dir, and questions of which no two are the same; `fields` are those of requests besides."""

    service: Service
    data_dir: Path
    questions: Iterator[str]
    fields: Mapping[str, object] = field(default_factory=dict)

    def cpu_s(self) -> CpuTime:
        """Returns the CPU time that the service and the processes of its Postgres have used so far, in seconds."""
        pid_file = self.data_dir / "postgres" / "data" / "postmaster.pid"
        postmaster = psutil.Process(int(pid_file.read_text().split()[0]))
        postgres = sum(postmaster.cpu_times()[:4])  # with that of its processes that have ended
        for process in postmaster.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                postgres += sum(process.cpu_times()[:2])
        loops = self.service.loop_cpu_s()
        return CpuTime(loops, self.service.cpu_s() - loops, postgres)


def combine(slices: Sequence[LoadFigures]) -> LoadFigures:
    """Returns the means of closed loops of the same length; of the latencies, the largest."""
    cpu_ms = CpuTime(*(statistics.fmean(some) for some in zip(*(one.cpu_ms for one in slices), strict=True)))
    return LoadFigures(
        clients=slices[0].clients,
        answers_per_s=statistics.fmean(one.answers_per_s for one in slices),
        p50_ms=max(one.p50_ms for one in slices),
        p95_ms=max(one.p95_ms for one in slices),
        refused=sum(one.refused for one in slices),
        failed=sum(one.failed for one in slices),
        cpu_ms=cpu_ms,
    )


class Client:
    """One connection that is kept open; leaner than httpx, which would take more CPU time than the service."""

    def __init__(self, target: Target, key: str) -> None:
        self._target = target
        self._key = key

    async def __aenter__(self) -> Client:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._target.service.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def search(self) -> Reply:
        """Sends the next question and reads the response."""
        body = json.dumps({"query": next(self._target.questions), **self._target.fields}).encode()
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}"
        head = f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {self._key}\r\n{kind}\r\n\r\n"
        start = time.perf_counter()
        self._writer.write(head.encode() + body)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        await self._reader.readexactly(int(head.partition("content-length: ")[2].partition("\r")[0]))
        return Reply(int(head.split()[1]), 1000 * (time.perf_counter() - start))


async def closed_loop(target: Target, key: str, *, clients: int, seconds: float) -> LoadFigures:
    """Has each client send the next search as soon as it has a response, for so many seconds."""
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(Client(target, key)) for _ in range(clients)]
        ends = time.perf_counter() + seconds
        return await _measured(target, [_until(client, lambda: time.perf_counter() >= ends) for client in opened])


async def burst(target: Target, key: str, *, searches: int) -> LoadFigures:
    """Sends so many searches at once, on connections that are open already."""
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(Client(target, key)) for _ in range(searches)]
        once = [itertools.chain([False], itertools.repeat(True)).__next__ for _ in opened]
        return await _measured(target, [_until(client, done) for client, done in zip(opened, once, strict=True)])


async def light_beside_heavy(target: Target, *, light: str, heavy: str, seconds: float) -> LoadFigures:
    """The figures of one client whose user has no other, while HEAVY_CLIENTS of another user search in closed loops.

    The CPU time is that of all clients' searches.
    """
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(Client(target, heavy)) for _ in range(HEAVY_CLIENTS)]
        ends = time.perf_counter() + seconds
        crowd = asyncio.gather(*(_until(client, lambda: time.perf_counter() >= ends) for client in opened))
        cpu_s = target.cpu_s()
        figures = await closed_loop(target, light, clients=1, seconds=seconds)
        replies = sum(len(one) for one in await crowd)
        cpu_ms = target.cpu_s().since(cpu_s, answers=replies + figures.answers_per_s * seconds)
        return replace(figures, cpu_ms=cpu_ms)


async def _until(client: Client, done: Callable[[], bool]) -> list[Reply]:
    replies = []
    while not done():
        replies.append(await client.search())
    return replies


async def _measured(target: Target, loops: Sequence[Coroutine[None, None, list[Reply]]]) -> LoadFigures:
    start, cpu_s = time.perf_counter(), target.cpu_s()
    replies = list(itertools.chain.from_iterable(await asyncio.gather(*loops)))
    seconds, used_s = time.perf_counter() - start, target.cpu_s()
    took = [reply.took_ms for reply in replies if reply.status == HTTPStatus.OK]
    refused = sum(reply.status == HTTPStatus.SERVICE_UNAVAILABLE for reply in replies)
    return LoadFigures(
        clients=len(loops),
        answers_per_s=len(took) / seconds,
        p50_ms=statistics.median(took) if took else 0.0,
        p95_ms=statistics.quantiles(took, n=20)[-1] if len(took) > 1 else sum(took),
        refused=refused,
        failed=len(replies) - len(took) - refused,
        cpu_ms=used_s.since(cpu_s, answers=len(took)),
    )
