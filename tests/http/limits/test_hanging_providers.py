"""Tests that a hanging language model or reranker delays only a few searches."""

import time
from collections.abc import AsyncIterator
from typing import Any

import harness
import httpx
import pytest
from fake_provider import FakeProvider

from app import runtime
from app.database.transactions import Database
from app.models import remote_calls
from app.settings import Settings

MULTIHOP = ("/api/rag/search/multihop", {"query": "Where was the director of Silent Harbour born?"}, "llm_failed")
RERANK = ("/api/rag/search", {"query": "director", "ranking": {"rerank": "provider"}}, "reranker_failed")
TEXTS = ("Silent Harbour is a film whose director is Ilse Brandt.", "Ilse Brandt spent her youth in Lundby.")
LIMIT_S = 0.5
Json = dict[str, Any]


@pytest.fixture
async def client(address: Any, database: Database, provider: FakeProvider) -> AsyncIterator[httpx.AsyncClient]:
    """The application as its settings make it; its language model and re-ranker are one misbehaving server."""
    settings = Settings(
        auth="api_key",
        metrics="open",
        database_url=address.service_dsn,
        llm="openai",
        llm_url=provider.url,
        llm_model="tiny",
        reranker="cohere",
        reranker_url=provider.url,
        model_timeout_s=LIMIT_S,
    )
    async with (
        runtime.open_services(settings) as services,
        harness.running(settings, services) as app,
        harness.client(app, Authorization=f"Bearer {await harness.create_key(database, harness.new_user())}") as client,
    ):
        for text in TEXTS:
            assert (await client.post("/api/rag/documents", json={"content": text})).status_code == 201
        yield client


def _answers(provider: FakeProvider, path: str) -> None:
    """Answer well from now on."""
    provider.silent = False
    if path == MULTIHOP[0]:
        provider.openai('{"terms": ["Ilse Brandt"]}')
    else:
        provider.respond = lambda asked: {
            "results": [{"index": i, "relevance_score": 0.5} for i in range(len(asked["documents"]))]
        }


async def _gauge(client: httpx.AsyncClient, role: str) -> float:
    return await _metric(client, "stepwell_provider_breaker_state{", role)


async def _metric(client: httpx.AsyncClient, *parts: str) -> float:
    """The value of the metric with these parts; 0 before it has one."""
    lines = (await client.get("/metrics")).text.splitlines()
    found = [float(line.rsplit(" ", 1)[1]) for line in lines if all(part in line for part in parts)]
    assert len(found) <= 1
    return sum(found)


@pytest.mark.usefixtures("patient_readiness")
@pytest.mark.parametrize(("path", "body", "code"), [MULTIHOP, RERANK])
async def test_after_five_hanging_calls_the_provider_is_not_called_until_it_recovers(
    client: httpx.AsyncClient, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, path: str, body: Json, code: str
) -> None:
    async def degraded() -> list[str]:
        response = await client.post(path, json=body)
        assert response.status_code == 200, response.text
        codes: list[str] = response.json().get("degraded", [])
        return codes

    role = code.removesuffix("_failed")
    attempts = ("stepwell_provider_attempts_total", role)
    provider.silent = True
    while await _metric(client, *attempts, "failed") < remote_calls.BREAKER_FAILURES:
        assert await _gauge(client, role) == 0
        assert code in await degraded()
    # A machine that stalls for longer than the limit makes no call, which is no failure of the provider.
    not_called = await _metric(client, *attempts, "not_called")
    called = len(provider.requests)
    assert 1 <= called <= remote_calls.BREAKER_FAILURES + not_called

    assert code in await degraded()
    assert len(provider.requests) == called
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["providers"][role]) == (200, "open")
    assert await _gauge(client, role) == 2
    assert await _metric(client, *attempts, "failed") == remote_calls.BREAKER_FAILURES
    assert await _metric(client, *attempts, "not_called") == not_called + 1

    monkeypatch.setattr(remote_calls, "monotonic", lambda: time.monotonic() + remote_calls.BREAKER_PAUSE_S)
    assert await _gauge(client, role) == 1
    _answers(provider, path)
    assert code not in await degraded()
    assert await _gauge(client, role) == 0
