"""SIGTERM lets running requests finish and refuses new ones (test_new_service covers a single search)."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any

import httpx
import pytest
import running_service
from running_service import DOCUMENTS, SEARCH, locked_chunks, until


async def test_running_searches_and_uploads_are_finished_and_new_requests_refused(address: Any) -> None:
    async with running_service.process(DATABASE_URL=address.service_dsn) as (started, client):
        await running_service.answers(started, client)
        assert (await client.post(DOCUMENTS, json={"content": "Lime sets slowly.", "uri": "a"})).status_code == 201
        async with locked_chunks(address) as hold:
            search = asyncio.create_task(client.post(SEARCH, json={"query": "lime"}))
            upload = asyncio.create_task(client.post(DOCUMENTS, json={"content": "Cement is fast.", "uri": "b"}))
            form = asyncio.create_task(client.post(DOCUMENTS, files={"files": ("c.md", b"# Clay\n\nClay is old.")}))
            await hold.reached(3)
            began = time.perf_counter()
            started.send_signal(signal.SIGTERM)
            await until(lambda: _refuses(str(client.base_url)))
            assert not [one for one in (search, upload, form) if one.done()]
            await hold.release()
        answered = await asyncio.gather(search, upload, form)
        assert [one.status_code for one in answered] == [200, 201, 201]
        assert [hit["uri"] for hit in answered[0].json()["results"]] == ["a"]
        assert await asyncio.wait_for(started.wait(), running_service.PATIENCE_S) == 0
        print(f"ended {time.perf_counter() - began:.1f} s after SIGTERM")
    owner = await address.connect()
    stored = await owner.fetch("SELECT uri, chunk_count FROM stepwell.documents ORDER BY uri")
    await owner.close()
    assert [tuple(row) for row in stored] == [("a", 1), ("b", 1), ("c.md", 1)]


@pytest.mark.skipif(not running_service.FULL, reason="a stuck request is waited for twelve seconds")
async def test_a_request_that_never_ends_does_not_block_the_shutdown(address: Any) -> None:
    async with running_service.process(DATABASE_URL=address.service_dsn) as (started, client):
        await running_service.answers(started, client)
        async with locked_chunks(address) as hold:
            upload = asyncio.create_task(client.post(DOCUMENTS, json={"content": "Never stored.", "uri": "stuck"}))
            await hold.reached(1)
            began = time.perf_counter()
            started.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(started.wait(), running_service.PATIENCE_S) == 0
            print(f"ended {time.perf_counter() - began:.1f} s after SIGTERM with a stuck upload")
            await asyncio.gather(upload, return_exceptions=True)


async def _refuses(address: str) -> bool:
    try:
        async with httpx.AsyncClient(timeout=running_service.PATIENCE_S) as newcomer:
            await newcomer.get(f"{address}/healthz")
    except httpx.TransportError:
        return True
    return False
