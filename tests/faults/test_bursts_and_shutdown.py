"""A service of its own process, with the real model, answers bursts and finishes what runs when it is stopped."""

import asyncio
import json
import random
import signal
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import raw_connections
import running_service
from harness import Tenant
from raw_connections import Client
from running_service import DOCUMENTS, FULL, SEARCH, locked_chunks, until

from app.database import transactions
from app.documents import operations as documents
from app.documents.types import Upload
from app.services import ChunkingOptions

AT_ONCE, STORED, BURSTS = (200, 2_000, 20) if FULL else (100, 200, 1)
PATIENT = {"STEPWELL_SEARCH_TIMEOUT_S": "120"}
"""Timeouts that serve the whole burst on a machine that is busy with other work, too."""
OPEN_JOBS = "SELECT count(*) FROM stepwell.jobs WHERE status IN ('queued', 'running')"


@pytest.fixture(scope="module")
async def service(address: Any) -> AsyncIterator[tuple[asyncio.subprocess.Process, httpx.AsyncClient]]:
    """The service of all tests of this module, on a database with chunks; the last test stops it."""
    await _filled(address)
    env = {"DATABASE_URL": address.service_dsn, "STEPWELL_METRICS": "open", **PATIENT}
    async with running_service.process(**env) as (started, client):
        await running_service.answers(started, client)
        yield started, client


async def _ask(line: Client, number: int) -> tuple[int, bool]:
    """The status of a search, and whether its answer is degraded. No two queries are alike, for the cache.

    Two hundred httpx clients would take more CPU time than the searches.
    """
    body = json.dumps({"query": f"How often does buoy {number} report its tide readings?"})
    fields = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    await line.send(f"POST {SEARCH} HTTP/1.1\r\n{fields}\r\n\r\n{body}".encode())
    status, _headers, answered = await line.response()
    return status, bool(json.loads(answered).get("degraded"))


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


async def test_every_search_of_a_burst_is_answered(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, client = service
    monkeypatch.setattr(raw_connections, "PATIENCE_S", 120.0)
    lines = [Client(*await asyncio.open_connection("127.0.0.1", client.base_url.port)) for _ in range(AT_ONCE)]
    for first in range(0, BURSTS * AT_ONCE, AT_ONCE):
        responses = await asyncio.gather(*(_ask(line, first + n) for n, line in enumerate(lines)))
        assert set(responses) == {(200, False)}
    for line in lines:
        line.writer.close()
        await line.writer.wait_closed()
    assert (await client.get("/readyz")).status_code == 200


async def test_sigterm_lets_searches_and_uploads_finish_and_refuses_new_requests(service, address, owner) -> None:
    started, client = service
    assert (await client.post(DOCUMENTS, json={"content": "Lime sets slowly.", "uri": "a"})).status_code == 201
    await until(lambda: _no_job_is_open(owner))
    async with locked_chunks(address) as hold:
        search = asyncio.create_task(client.post(SEARCH, json={"query": "+lime"}))
        upload = asyncio.create_task(client.post(DOCUMENTS, json={"content": "Cement is fast.", "uri": "b"}))
        form = asyncio.create_task(client.post(DOCUMENTS, files={"files": ("c.md", b"# Clay\n\nClay is old.")}))
        await hold.reached(3)
        started.send_signal(signal.SIGTERM)
        await until(lambda: _refuses(str(client.base_url)))
        assert not [one for one in (search, upload, form) if one.done()]
        await hold.release()
    answered = await asyncio.gather(search, upload, form)
    assert [one.status_code for one in answered] == [200, 201, 201]
    assert [hit["uri"] for hit in answered[0].json()["results"]] == ["a"]
    assert await asyncio.wait_for(started.wait(), running_service.PATIENCE_S) == 0
    stored = await owner.fetch(
        "SELECT uri, chunk_count FROM stepwell.documents WHERE uri IN ('a', 'b', 'c.md') ORDER BY uri"
    )
    assert [tuple(row) for row in stored] == [("a", 1), ("b", 1), ("c.md", 1)]


async def _no_job_is_open(owner: Any) -> bool:
    return int(await owner.fetchval(OPEN_JOBS)) == 0


@pytest.mark.skipif(not FULL, reason="a stuck request is waited for twelve seconds")
async def test_a_request_that_never_ends_does_not_block_the_shutdown(address: Any) -> None:
    async with running_service.process(DATABASE_URL=address.service_dsn) as (started, client):
        await running_service.answers(started, client)
        async with locked_chunks(address) as hold:
            upload = asyncio.create_task(client.post(DOCUMENTS, json={"content": "Never stored.", "uri": "stuck"}))
            await hold.reached(1)
            started.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(started.wait(), running_service.PATIENCE_S) == 0
            await asyncio.gather(upload, return_exceptions=True)


async def _refuses(address: str) -> bool:
    try:
        async with httpx.AsyncClient(timeout=running_service.PATIENCE_S) as newcomer:
            await newcomer.get(f"{address}/healthz")
    except httpx.TransportError:
        return True
    return False
