"""Searches and uploads of a running service whose remote embedder fails in every way, and its recovery."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import fake_provider
import harness
import httpx
import pytest
from fake_provider import FAULTS, FakeProvider

from app import runtime
from app.models import remote_calls
from app.models.local import minilm
from app.models.remote_calls import BULK_PATIENCE_S
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder
from tests.faults import running_service
from tests.faults.running_service import DOCUMENTS, SEARCH

KEY = "sk-canary-0123456789"
TIMEOUT_S = 0.6
DEADLINE_S = 5.0
SEARCHES = 250 if running_service.FULL else 6
TEXT = "Lime mortar sets slowly below the third landing."


@asynccontextmanager
async def _service(address: Any, url: str, *, patience_s: float = BULK_PATIENCE_S) -> AsyncIterator[httpx.AsyncClient]:
    """The service with a remote embedder at `url`, as a client reaches it over a socket."""
    settings = Settings(
        database_url=address.service_dsn,
        metrics="open",
        embedder="openai",
        embedder_url=url,
        embedder_model=minilm.MODEL.name,
        embedder_dim=minilm.MODEL.dimension,
        embedder_api_key=KEY,
        model_timeout_s=TIMEOUT_S,
        search_timeout_s=DEADLINE_S,
    )
    async with (
        runtime.open_services(settings, patience_s=patience_s) as services,
        harness.running(settings, services) as app,
        running_service.listening(app) as client,
    ):
        yield client


Served = tuple[httpx.AsyncClient, FakeProvider]


@pytest.fixture(scope="module")
async def served(address: Any) -> AsyncIterator[Served]:
    """The service of most tests with a stored text, and the provider, which embeds well until it is told otherwise."""
    async with _providing() as provider, _service(address, provider.url) as client:
        assert (await client.post(DOCUMENTS, json={"content": TEXT, "uri": "mortar"})).status_code == 201
        yield client, provider


@asynccontextmanager
async def _providing() -> AsyncIterator[FakeProvider]:
    async with fake_provider.serve() as provider:
        provider.embedder = FakeEmbedder(dimension=minilm.MODEL.dimension)
        yield provider


@contextmanager
def _later(seconds: float) -> Iterator[None]:
    """Let the breakers see a later time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote_calls, "monotonic", lambda: time.monotonic() + seconds)
        yield


async def _search(client: httpx.AsyncClient, query: str) -> list[str]:
    """The codes in `degraded` of a search that finds the stored text."""
    response = await client.post(SEARCH, json={"query": query})
    assert response.status_code == 200, response.text
    assert response.json()["results"], "the text leg finds the text"
    codes: list[str] = response.json().get("degraded", [])
    return codes


async def _state(client: httpx.AsyncClient) -> str:
    ready = await client.get("/readyz")
    assert ready.status_code == 200
    state: str = ready.json()["providers"]["embedder"]
    return state


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("patient_readiness")
async def test_searches_are_answered_from_the_words_while_the_provider_fails_and_fully_after_it_recovers(served, fault):
    client, provider = served
    assert await _search(client, f"lime mortar {fault}") == []
    provider.misbehave(fault)
    sent, began = len(provider.requests), time.monotonic()
    await _fails(client, fault)
    # A failure that is not sent in time counts too, and a call is let through after each pause.
    let_through = remote_calls.BREAKER_FAILURES + (time.monotonic() - began) // remote_calls.BREAKER_PAUSE_S
    assert 1 <= len(provider.requests) - sent <= (1 if fault == "busy" else let_through)
    provider.misbehave(None)
    with _later(remote_calls.LONGEST_PAUSE_S):
        assert await _search(client, f"lime mortar after {fault}") == []
        assert await _state(client) == "closed"


@pytest.mark.usefixtures("patient_readiness")
async def test_searches_are_answered_from_the_words_while_the_provider_speaks_no_tls(address, served) -> None:
    _, provider = served
    async with _service(address, provider.url.replace("http:", "https:")) as client:
        await _fails(client, "tls")


async def _fails(client: httpx.AsyncClient, fault: str) -> None:
    """Search while the provider fails: first it is called, then it is not."""
    for number in range(SEARCHES):
        assert "embedding_failed" in await _search(client, f"lime mortar {number} {fault}")
    assert await _state(client) == "open"


async def test_a_burst_of_searches_meets_its_deadline_while_the_provider_hangs(served: Served) -> None:
    client, provider = served
    provider.misbehave("silent")
    asked = []
    for burst in range(2):  # all of the first may have called before the first call has failed
        numbers = range(40 * burst, 40 * (burst + 1))
        found = await asyncio.gather(*(_search(client, f"lime mortar {number} burst") for number in numbers))
        assert all("embedding_failed" in codes for codes in found)
        asked.append(len(provider.requests))
    assert asked[1] - asked[0] < 5, "the breaker is open"
    provider.misbehave(None)


async def test_an_upload_waits_for_the_pause_that_the_provider_asks_for(address: Any) -> None:
    async with _providing() as provider, _service(address, provider.url) as client:
        provider.misbehave("busy")
        provider.headers = {"Retry-After": "0.3"}
        uploading = asyncio.create_task(client.post(DOCUMENTS, json={"content": "Wait for the pause."}))
        while not provider.answered:  # noqa: ASYNC110 - the server sets no event
            await asyncio.sleep(0.01)
        provider.misbehave(None)
        assert (await uploading).status_code == 201
        assert len(provider.requests) >= 2


async def test_an_upload_during_an_outage_stores_nothing_and_succeeds_afterwards(address, caplog) -> None:
    async with _providing() as provider, _service(address, provider.url, patience_s=0.3) as client:
        for fault in ("error", "reset", "nan", "unauthorized"):
            upload = {"content": f"Stored after the outage {fault}.", "uri": f"outage-{fault}"}
            provider.misbehave(fault)
            refused = await client.post(DOCUMENTS, json=upload)
            assert refused.status_code == 502, refused.text
            assert refused.json()["code"] == ("bad_embedding" if fault == "nan" else "provider_failed")
            assert KEY not in refused.text
            assert upload["uri"] not in (await client.get(DOCUMENTS)).text
            assert (await client.get("/readyz")).status_code == 200
            for path in ("/readyz", "/metrics", "/api/rag/stats"):
                assert KEY not in (await client.get(path)).text
            assert KEY not in caplog.text
            provider.misbehave(None)
            with _later(remote_calls.LONGEST_PAUSE_S):
                assert (await client.post(DOCUMENTS, json=upload)).status_code == 201
