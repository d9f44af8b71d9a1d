"""Bursts of searches, clients that do not send their bodies, and providers that do not answer.

The burst runs against the service as a process of its own, with the real model; its figures depend on the machine and
are printed, not judged.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import harness
import httpx
import psutil
import pytest
import running_service
from fake_provider import FakeProvider
from harness import Tenant
from running_service import SEARCH, until

from app.config import Settings
from app.pipelines.documents import documents
from app.pipelines.running.chunking_options import ChunkingOptions
from app.providers.remote.chat import ChatLlm
from app.providers.remote.rerankers import HttpReranker
from app.shapes import Upload
from app.store.connection import transactions

AT_ONCE = 200
STORED = 2_000 if running_service.FULL else 400
CROWD = 16
LASTING_S = 10.0 if running_service.FULL else 1.0
BURSTS = 20 if running_service.FULL else 1
QUIET = 100 if running_service.FULL else 30
PATIENT = {"STEPWELL_QUEUE_TIMEOUT_S": "60", "STEPWELL_SEARCH_TIMEOUT_S": "60"}
"""Timeouts that serve the whole burst on a machine that is busy with other work, too."""


@dataclass(frozen=True, slots=True)
class TimedResponse:
    """The status of a response, its duration in milliseconds and whether it is degraded."""

    status: int
    took_ms: float
    degraded: bool


class Line:
    """An open connection; two hundred httpx clients would take more CPU time than the searches."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Line:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def ask(self, number: int) -> TimedResponse:
        """One search. No two queries are alike, so that none is answered from the cache of vectors."""
        body = json.dumps({"query": f"How often does buoy {number} report its tide readings?"}).encode()
        fields = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        began = time.perf_counter()
        self._writer.write(f"POST {SEARCH} HTTP/1.1\r\n{fields}\r\n\r\n".encode() + body)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        answered = await self._reader.readexactly(int(head.partition("content-length: ")[2].partition("\r")[0]))
        took = 1000 * (time.perf_counter() - began)
        return TimedResponse(int(head.split()[1]), took, bool(json.loads(answered).get("degraded")))


async def _filled(address: Any) -> None:
    """Chunks of words as unevenly frequent as a language's; the vectors are made up."""
    chance = random.Random(0)
    words = [*("how", "often", "does", "buoy", "report", "its", "tide"), *(f"word{number}" for number in range(5_000))]
    frequencies = [1 / (rank + 1) for rank in range(len(words))]
    paragraphs = (" ".join(chance.choices(words, frequencies, k=60)) + "." for _ in range(STORED))
    notes = ["\n\n".join(group) for group in zip(*[paragraphs] * 20, strict=True)]
    database = transactions.connect(address.service_dsn, pool_wait_s=30)
    tenant = Tenant(database, user_id="local", chunking_options=ChunkingOptions(target=80, overlap=0))
    await tenant.many([Upload(note, uri=f"note-{number}") for number, note in enumerate(notes)])
    assert (await documents.stats("local", db=database)).chunks >= STORED
    await database.close()


def _p95(responses: list[TimedResponse]) -> float:
    return statistics.quantiles([one.took_ms for one in responses], n=20)[-1] if len(responses) > 1 else 0.0


async def _burst(lines: list[Line], first: int) -> list[TimedResponse]:
    return await asyncio.gather(*(line.ask(first + n) for n, line in enumerate(lines)))


async def _kept_up(lines: list[Line]) -> float:
    """Searches answered per second to clients that each send the next one at once."""
    ends, answered = time.perf_counter() + LASTING_S, 0

    async def on_and_on(line: Line, number: int) -> None:
        nonlocal answered
        while time.perf_counter() < ends:
            number += 1
            answered += (await line.ask(number)).status == 200

    await asyncio.gather(*(on_and_on(line, 100_000 * (place + 1)) for place, line in enumerate(lines)))
    return answered / LASTING_S


async def test_every_search_of_a_burst_of_two_hundred_is_answered(address: Any) -> None:
    await _filled(address)
    async with running_service.process(DATABASE_URL=address.service_dsn, **PATIENT) as (started, client):
        await running_service.answers(started, client)
        server, sizes = psutil.Process(started.pid), []
        responses: list[TimedResponse] = []
        async with AsyncExitStack() as stack:
            lines = [await stack.enter_async_context(Line(client.base_url.port or 0)) for _ in range(AT_ONCE)]
            idle = [await lines[0].ask(n) for n in range(QUIET)]
            for burst in range(BURSTS):
                responses += await _burst(lines, 1_000 * (burst + 1))
                sizes.append(server.memory_info().rss / 2**20)
            alone = await _kept_up(lines[:1])
            crowd = await _kept_up(lines[:CROWD])
        print(f"\np95 idle {_p95(idle):.0f} ms, in a burst {_p95(responses):.0f} ms")
        print(f"memory after each burst, MB: {', '.join(f'{size:.0f}' for size in sizes)}")
        print(f"answered per second: {alone:.1f} to one client, {crowd:.1f} to {CROWD}")
        assert len(responses) == BURSTS * AT_ONCE
        assert {(one.status, one.degraded) for one in (*idle, *responses)} == {(200, False)}
        assert (await client.get("/readyz")).status_code == 200


@asynccontextmanager
async def _one_at_a_time(address: Any, auth: str, **providers: Any) -> AsyncIterator[tuple[httpx.AsyncClient, Any]]:
    """The service that runs one search at a time, over a socket, with a note in it."""
    database = transactions.connect(address.service_dsn, pool_wait_s=30)
    try:
        await Tenant(database, user_id="local").add("The Gannet reports every eleven minutes.", "gannet")
        services = replace(await harness.services(database), **providers)
        settings = Settings(auth=auth, max_concurrent_searches=1)
        async with harness.running(settings, services) as app, running_service.listening(app) as client:
            yield client, app
    finally:
        await database.close()


@pytest.mark.parametrize(("auth", "status"), [("none", 408), ("api_key", 401)])
async def test_connections_that_do_not_send_their_bodies_delay_no_search(address: Any, auth: str, status: int) -> None:
    async with _one_at_a_time(address, auth) as (client, app):
        key = await harness.create_key(app.state.services.db, "local")
        port = client.base_url.port
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for _, writer in slow:
            head = f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
            writer.write(head.encode() + b"\r\nContent-Length: 100\r\n\r\n{")
            await writer.drain()
        for number in range(3):
            asked = await client.post(SEARCH, json={"query": f"buoy {number}"}, headers={"X-API-Key": key})
            assert asked.status_code == 200
        for reader, writer in slow:
            async with asyncio.timeout(30):
                assert (await reader.readuntil(b"\r\n")).split()[1] == str(status).encode()
            writer.close()
            await writer.wait_closed()


async def test_searches_that_wait_for_a_provider_do_not_block_others(address: Any, provider: FakeProvider) -> None:
    provider.silent = True
    llm, reranker = ChatLlm(kind="openai", url=provider.url, model="m"), HttpReranker(kind="tei", url=provider.url)
    async with _one_at_a_time(address, "none", llm=llm, reranker=reranker) as (client, app):
        hanging = [
            asyncio.create_task(client.post(f"{SEARCH}/multihop", json={"query": "Gannet", "extractor": "llm"})),
            asyncio.create_task(client.post(SEARCH, json={"query": "Gannet", "rerank": "provider"})),
        ]

        async def asked() -> bool:
            return len(provider.requests) == len(hanging)

        await until(asked)
        for _ in range(3):
            found = await client.post(SEARCH, json={"query": "Gannet"})
            assert found.json()["results"]
        assert not any(one.done() for one in hanging)
        for one in hanging:
            one.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)

        async def idle() -> bool:
            return (app.state.searches.running, app.state.searches.waiting) == (0, 0)

        await until(idle)
    await llm.aclose()
    await reranker.aclose()


async def test_a_search_continues_after_its_provider_answered(address: Any, provider: FakeProvider) -> None:
    provider.openai('["Gannet"]')
    llm = ChatLlm(kind="openai", url=provider.url, model="m")
    async with _one_at_a_time(address, "none", llm=llm) as (client, app):
        asked = [
            client.post(f"{SEARCH}/multihop", json={"query": f"minutes {number}", "extractor": "llm"})
            for number in range(5)
        ]
        answers = await asyncio.gather(*asked)
        assert [one.status_code for one in answers] == [200] * 5
        assert len(provider.requests) == 5
        assert app.state.searches.running == 0
    await llm.aclose()
