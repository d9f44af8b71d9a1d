"""What happens when two hundred people search at once? (row D12)

The service runs as a process of its own, with the real model; the figures depend on the machine and are printed, not
judged.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import psutil
import standing
from given import World
from standing import SEARCH

from app.pipelines import documents, ingest
from app.shapes import Upload
from app.store import db

AT_ONCE = 200
STORED = 2_000 if standing.FULL else 400
CROWD = 16
LASTING_S = 10.0 if standing.FULL else 1.0
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


async def _filled(place: Any) -> None:
    """Chunks of words as unevenly frequent as a language's; the vectors are made up."""
    chance = random.Random(0)
    words = [*("how", "often", "does", "buoy", "report", "its", "tide"), *(f"word{number}" for number in range(5_000))]
    frequencies = [1 / (rank + 1) for rank in range(len(words))]
    paragraphs = (" ".join(chance.choices(words, frequencies, k=60)) + "." for _ in range(STORED))
    notes = ["\n\n".join(group) for group in zip(*[paragraphs] * 20, strict=True)]
    database = db.connect(place.service_dsn, pool_wait_s=30)
    world = World(database, user_id="local", cutting=ingest.Cutting(target=80, overlap=0))
    await world.many([Upload(note, uri=f"note-{number}") for number, note in enumerate(notes)])
    assert (await documents.stats("local", db=database)).chunks >= STORED
    await database.close()


def _p95(told: list[Told]) -> float:
    return statistics.quantiles([one.took_ms for one in told], n=20)[-1] if len(told) > 1 else 0.0


async def _burst(lines: list[Line], first: int) -> list[Told]:
    return await asyncio.gather(*(line.ask(first + n) for n, line in enumerate(lines)))


async def _kept_up(lines: list[Line]) -> float:
    """Searches answered in a second to callers who ask again at once, and a moment after a refusal."""
    ends, answered = time.perf_counter() + LASTING_S, 0

    async def on_and_on(line: Line, number: int) -> None:
        nonlocal answered
        while time.perf_counter() < ends:
            number += 1
            answered += (told := await line.ask(number)).status == 200
            if told.status != 200:
                await asyncio.sleep(0.05)

    await asyncio.gather(*(on_and_on(line, 100_000 * (place + 1)) for place, line in enumerate(lines)))
    return answered / LASTING_S


async def test_d12_of_two_hundred_searches_some_are_answered_and_the_rest_told_to_come_back(place: Any) -> None:
    await _filled(place)
    async with standing.process(DATABASE_URL=place.service_dsn) as (started, client):
        await standing.answers(started, client)
        server, sizes = psutil.Process(started.pid), []
        told: list[Told] = []
        async with AsyncExitStack() as stack:
            lines = [await stack.enter_async_context(Line(client.base_url.port or 0)) for _ in range(AT_ONCE)]
            idle = [await lines[0].ask(n) for n in range(QUIET)]
            for burst in range(BURSTS):
                told += await _burst(lines, 1_000 * (burst + 1))
                sizes.append(server.memory_info().rss / 2**20)
            alone = await _kept_up(lines[:1])
            crowd = await _kept_up(lines[:CROWD])
            assert (await lines[0].ask(0)).status == 200
        _report(idle, told, sizes)
        print(f"D12 answered in a second: {alone:.1f} to one who asks on and on, {crowd:.1f} to {CROWD} of them")
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
