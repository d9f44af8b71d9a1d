"""What happens when two hundred people search at once? (row D12)

The service runs as a process of its own, with the real model; the figures depend on the machine and are printed, not
judged.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import psutil
import standing
from standing import DOCUMENTS, SEARCH

from app import samples

AT_ONCE = 200
BURSTS = 20 if standing.FULL else 3
QUIET = 100 if standing.FULL else 30


@dataclass(frozen=True, slots=True)
class Told:
    """One answer: its status, its duration in milliseconds, whether it says when to come back."""

    status: int
    took_ms: float
    retry: bool
    degraded: bool


class Line:
    """A connection that stands already. A leaner client than most: two hundred others would measure themselves."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Line:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def ask(self, number: int) -> Told:
        """One search. No two queries are alike, so that none is answered from the cache of vectors."""
        body = json.dumps({"query": f"How often does buoy {number} report its tide readings?"}).encode()
        head = f"POST {SEARCH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        began = time.perf_counter()
        self._writer.write(head.encode() + b"\r\n\r\n" + body)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        answered = await self._reader.readexactly(int(head.partition("content-length: ")[2].partition("\r")[0]))
        took = 1000 * (time.perf_counter() - began)
        return Told(int(head.split()[1]), took, "retry-after:" in head, bool(json.loads(answered).get("degraded")))


def _notes() -> list[tuple[str, str]]:
    return [(path.name, path.read_text(encoding="utf-8")) for path in sorted(samples.NOTES.rglob("*.md"))]


def _p95(told: list[Told]) -> float:
    return statistics.quantiles([one.took_ms for one in told], n=20)[-1] if len(told) > 1 else 0.0


async def _burst(lines: list[Line], first: int) -> list[Told]:
    return await asyncio.gather(*(line.ask(first + n) for n, line in enumerate(lines)))


async def test_d12_of_two_hundred_searches_some_are_answered_and_the_rest_told_to_come_back(place: Any) -> None:
    async with standing.process(DATABASE_URL=place.service_dsn) as (started, client):
        await standing.answers(started, client)
        notes = [{"content": content, "uri": uri} for uri, content in _notes()]
        assert (await client.post(DOCUMENTS, json=notes)).status_code == 201
        server, sizes = psutil.Process(started.pid), []
        told: list[Told] = []
        async with AsyncExitStack() as stack:
            lines = [await stack.enter_async_context(Line(client.base_url.port or 0)) for _ in range(AT_ONCE)]
            idle = [await lines[0].ask(n) for n in range(QUIET)]
            for burst in range(BURSTS):
                told += await _burst(lines, 1_000 * (burst + 1))
                sizes.append(server.memory_info().rss / 2**20)
            assert (await lines[0].ask(0)).status == 200
        _report(idle, told, sizes)
        assert {one.status for one in idle} == {200}
        turned_away = [one for one in told if one.status != 200]
        assert len(told) == BURSTS * AT_ONCE
        assert {one.status for one in told} == {200, 503}
        assert all(one.retry for one in turned_away)
        assert not any(one.degraded for one in told)
        assert (await client.get("/readyz")).status_code == 200


def _report(idle: list[Told], told: list[Told], sizes: list[float]) -> None:
    admitted = [one for one in told if one.status == 200]
    away = [one for one in told if one.status != 200]
    print(f"\nD12 idle p95 {_p95(idle):.0f} ms; {dict(Counter(one.status for one in told))}")
    print(
        f"D12 admitted p95 {_p95(admitted):.0f} ms ({_p95(admitted) / _p95(idle):.1f} x), turned away {_p95(away):.0f}"
    )
    print(f"D12 memory after each burst, MB: {', '.join(f'{size:.0f}' for size in sizes)}")
