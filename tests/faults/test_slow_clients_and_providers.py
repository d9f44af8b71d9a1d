"""Clients that do not send their bodies, and providers that do not answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import harness
import httpx
import pytest
import running_service
from fake_provider import FakeProvider
from harness import Tenant
from running_service import SEARCH, until

from app.models.remote.chat import ChatLlm
from app.models.remote.rerankers import HttpReranker
from app.settings import Settings

LLM_HOPS = {"hops": {"extractor": "llm"}}


@asynccontextmanager
async def _one_at_a_time(address: Any, auth: Any, **providers: Any) -> AsyncIterator[tuple[httpx.AsyncClient, Any]]:
    """The service that runs one search at a time, over a socket, with a note in it."""
    settings = Settings(auth=auth, max_concurrent_searches=1)
    async with running_service.serving(address, settings, **providers) as (client, database, app):
        await Tenant(database, user_id="local").add("The Gannet reports every eleven minutes.", "gannet")
        yield client, app


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
            asyncio.create_task(client.post(f"{SEARCH}/multihop", json={"query": "Gannet", "ranking": LLM_HOPS})),
            asyncio.create_task(client.post(SEARCH, json={"query": "Gannet", "ranking": {"rerank": "provider"}})),
        ]
        await until(lambda: len(provider.requests) == len(hanging))
        for _ in range(3):
            found = await client.post(SEARCH, json={"query": "Gannet"})
            assert found.json()["results"]
        assert not any(one.done() for one in hanging)
        await running_service.cancel(*hanging)
        await until(lambda: (app.state.searches.running, app.state.searches.waiting) == (0, 0))
    await llm.aclose()
    await reranker.aclose()


async def test_a_search_continues_after_its_provider_answered(address: Any, provider: FakeProvider) -> None:
    provider.openai('["Gannet"]')
    llm = ChatLlm(kind="openai", url=provider.url, model="m")
    async with _one_at_a_time(address, "none", llm=llm) as (client, app):
        asked = [
            client.post(f"{SEARCH}/multihop", json={"query": f"minutes {number}", "ranking": LLM_HOPS})
            for number in range(5)
        ]
        answers = await asyncio.gather(*asked)
        assert [one.status_code for one in answers] == [200] * 5
        assert len(provider.requests) == 5
        assert app.state.searches.running == 0
    await llm.aclose()
