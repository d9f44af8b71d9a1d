"""SIGTERM lets running requests finish and refuses new ones (a single search: test_packaging)."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any

import httpx
import pytest
import standing
from standing import DOCUMENTS, SEARCH


async def test_a_search_and_uploads_in_flight_are_finished_and_nothing_new_is_begun(address: Any) -> None:
    async with standing.process(DATABASE_URL=address.service_dsn) as (started, client):
        await standing.answers(started, client)
        assert (await client.post(DOCUMENTS, json={"content": "Lime sets slowly.", "uri": "a"})).status_code == 201
        async with standing.held(address) as hold:
            search = asyncio.create_task(client.post(SEARCH, json={"query": "lime"}))
            upload = asyncio.create_task(client.post(DOCUMENTS, json={"content": "Cement is fast.", "uri": "b"}))
            form = asyncio.create_task(client.post(DOCUMENTS, files={"files": ("c.md", b"# Clay\n\nClay is old.")}))
            await hold.reached(3)
            began = time.perf_counter()
            started.send_signal(signal.SIGTERM)
            await standing.until(lambda: _refuses(str(client.base_url)))
            assert not [one for one in (search, upload, form) if one.done()]
            await hold.release()
        answered = await asyncio.gather(search, upload, form)
        assert [one.status_code for one in answered] == [200, 201, 201]
        assert [hit["uri"] for hit in answered[0].json()["results"]] == ["a"]
        assert await asyncio.wait_for(started.wait(), standing.PATIENCE_S) == 0
        print(f"ended {time.perf_counter() - began:.1f} s after SIGTERM")
    owner = await address.connect()
    stored = await owner.fetch("SELECT uri, chunk_count FROM stepwell.documents ORDER BY uri")
    await owner.close()
    assert [tuple(row) for row in stored] == [("a", 1), ("b", 1), (None, 1)]


@pytest.mark.skipif(not standing.FULL, reason="a stuck request is waited for twelve seconds")
async def test_a_request_that_never_ends_does_not_keep_the_service_from_ending(address: Any) -> None:
    async with standing.process(DATABASE_URL=address.service_dsn) as (started, client):
        await standing.answers(started, client)
        async with standing.held(address) as hold:
            upload = asyncio.create_task(client.post(DOCUMENTS, json={"content": "Never stored.", "uri": "stuck"}))
            await hold.reached(1)
            began = time.perf_counter()
            started.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(started.wait(), standing.PATIENCE_S) == 0
            print(f"ended {time.perf_counter() - began:.1f} s after SIGTERM with a stuck upload")
            await asyncio.gather(upload, return_exceptions=True)


async def _refuses(address: str) -> bool:
    try:
        async with httpx.AsyncClient(timeout=standing.PATIENCE_S) as newcomer:
            await newcomer.get(f"{address}/healthz")
    except httpx.TransportError:
        return True
    return False
