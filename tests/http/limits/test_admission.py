"""Tests quotas, the shares of users in turns and in bodies being received, and how searches wait and end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import harness
import httpx
import pytest
from api_caller import Caller
from example_app import assert_problem
from fastapi import FastAPI

from app import main
from app import settings as config
from app.concurrency.limiter import Limiter
from app.database.transactions import Database
from app.http import admission, metrics
from app.services import Budget
from app.settings import Settings

GATED = [
    ("search", {"query": "lime"}),
    ("search/two-pass", {"query": "lime"}),
    ("search/multihop", {"query": "lime"}),
    ("similar", {"vector": [0.05] * 384}),
    ("rerank", {"lists": [{"name": "theirs", "hits": [{"chunk_id": "a"}]}]}),
]

DOCUMENTS = "/api/rag/documents"
Newcomer = Callable[..., Awaitable[Caller]]


@asynccontextmanager
async def half_sent(*callers: Caller) -> AsyncIterator[None]:
    """Uploads of each caller, as often as it is named, of whose body the second half does not arrive in the block."""
    started = asyncio.Semaphore(0)

    async def halves() -> AsyncIterator[bytes]:
        yield b'{"content": "Lime'
        started.release()
        await asyncio.Event().wait()

    headers = {"Content-Type": "application/json"}
    sent = [asyncio.create_task(one.client.post(DOCUMENTS, content=halves(), headers=headers)) for one in callers]
    try:
        for _ in sent:
            await started.acquire()
        yield
    finally:
        for task in sent:
            task.cancel()
        await asyncio.gather(*sent, return_exceptions=True)


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 8])
async def test_a_user_never_holds_all_turns_of_a_process(processes: int) -> None:
    app = FastAPI()
    metrics.install(app, access="off")
    admission.install(app, Limiter(2), processes=processes, rate_limit_user=0)
    gate = app.state.uploads
    asked = [asyncio.create_task(_hold(gate, "ana")) for _ in range(20)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(5), gate.turn("ben"):
            assert gate.running > 1
    finally:
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


async def _hold(gate: Any, user_id: str) -> None:
    async with gate.turn(user_id):
        await asyncio.Event().wait()


@pytest.mark.parametrize(("most", "held"), [(0, 0), (8, 7)])
async def test_searches_of_a_user_that_take_long_leave_a_place_to_others(database, most, held) -> None:
    services = await harness.services(database)
    settings = Settings(max_concurrent_searches=most)
    async with harness.running(settings, services) as app, harness.client(app) as client, asyncio.timeout(60):
        searches = app.state.searches
        asked = [asyncio.create_task(_hold(searches, "ana")) for _ in range(20)]
        await asyncio.sleep(0)
        assert searches.running == (held or config.usable_cores())
        assert (await client.post("/api/rag/search", json={"query": "lime"})).status_code == 200
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


async def test_bodies_that_do_not_arrive_hold_no_turn(app: FastAPI, new_caller: Newcomer) -> None:
    ana, ben, cy = [await new_caller("write") for _ in range(3)]
    async with half_sent(ana, ana, ben, ben):
        assert app.state.uploads.running == 0
        assert (await cy.add("Chalk."))["status"] == "added"
        assert (await ana.add("Chalk."))["status"] == "added"


async def test_a_user_sends_few_bodies_at_once_whatever_they_are_for(app, new_caller, monkeypatch) -> None:
    few = Limiter(admission.BODIES, of_user=admission.BODIES_OF_USER, max_waiting=64, timeout_s=0.05)
    monkeypatch.setitem(vars(app.state)["_state"], "bodies", few)  # it has no attributes of its own
    ana, ben = await new_caller("search", "write"), await new_caller("search", "write")
    entity = {"type": "person", "name": "Ana Silva"}
    async with half_sent(*[ana] * admission.BODIES_OF_USER):
        for path, body in ((DOCUMENTS, {"content": "Chalk."}), ("/api/rag/entities", entity)):
            assert_problem(await ana.client.post(path, json=body), 503, "overloaded")
            assert (await ben.client.post(path, json=body)).status_code == 201
        assert (await ana.search("chalk"))["results"] == []
        assert (await ana.client.delete(DOCUMENTS, params={"uri": "x"})).status_code == 404
    assert (await ana.client.post(DOCUMENTS, json={"content": "Chalk."})).status_code == 201


async def test_whatever_searches_ends_at_the_deadline_of_its_request(database: Database) -> None:
    services = replace(await harness.services(database, harness.HangingEmbedder()), budget=Budget(whole_s=0.0))
    query = {"query": "lime"}
    bodies = {"similar": {"vector": [0.05] * 384}}
    paths = ("search", "search/two-pass", "search/multihop", "similar", "entities/search", "tools/search_documents")
    async with harness.running(Settings(), services) as app, harness.client(app) as client, asyncio.timeout(60):
        for path in paths:
            response = await client.post(f"/api/rag/{path}", json=bodies.get(path, query))
            assert_problem(response, 504, "search_timeout")
            assert app.state.searches.running == 0, path


def test_a_quota_allows_a_burst_and_refills_evenly() -> None:
    now = 0.0
    limit = admission.RateLimit(6, clock=lambda: now)
    assert [limit.spend("a").remaining for _ in range(6)] == [5, 4, 3, 2, 1, 0]
    refused = limit.spend("a")
    assert (refused.remaining, refused.reset_s, refused.retry_after_s) == (0, 60, 10)
    assert limit.spend("b").remaining == 5
    now = 9.0
    assert limit.spend("a").retry_after_s == 1
    now = 10.0
    assert limit.spend("a") == admission.Spent(0, 60)
    now = 100.0
    assert limit.spend("a").remaining == 5


async def test_each_user_has_a_quota(database: Database) -> None:
    services, user = await harness.services(database), harness.new_user()
    first, second, other = [await harness.create_key(database, name) for name in (user, user, harness.new_user())]
    settings = Settings(auth="api_key", rate_limit_user=3)
    async with harness.calling(settings, services) as client:

        async def asked(key: str) -> httpx.Response:
            return await client.get("/api/rag/stats", headers={"X-API-Key": key})

        allowed = [await asked(first) for _ in range(3)]
        assert [one.status_code for one in allowed] == [200] * 3
        assert allowed[0].headers["ratelimit-policy"] == '"user";q=3;w=60'
        assert allowed[0].headers["ratelimit"] == '"user";r=2;t=20'
        refused = await asked(first)
        assert_problem(refused, 429, "rate_limited")
        assert int(refused.headers["retry-after"]) in range(1, 21)
        assert '"user";r=0' in refused.headers["ratelimit"]
        assert (await asked(second)).status_code == 429, "keys of a user share the quota"
        assert (await asked(other)).status_code == 200
        assert (await client.get("/healthz")).headers.get("ratelimit") is None
        assert (await client.get("/api/rag/stats")).status_code == 401


@pytest.mark.parametrize(("path", "body"), GATED, ids=[path for path, _ in GATED])
async def test_a_search_without_a_place_is_refused_and_one_with_a_place_waits_for_its_turn(
    database: Database, path: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(max_concurrent_searches=1)
    monkeypatch.setattr(main, "MAX_WAITING_SEARCHES", 1)
    services = await harness.services(database)
    async with harness.running(settings, services) as app, harness.client(app) as client, asyncio.timeout(60):
        searches = app.state.searches
        async with searches.turn("somebody else"):
            waiting = asyncio.create_task(client.post(f"/api/rag/{path}", json=body))
            while not searches.waiting:
                assert not waiting.done()
                await asyncio.sleep(0)
            refused = await client.post(f"/api/rag/{path}", json=body)
            assert_problem(refused, 503, "overloaded")
            assert refused.headers["retry-after"] == "1"
            assert not waiting.done()
        assert (await waiting).status_code == 200
        assert (searches.running, searches.waiting) == (0, 0)


async def test_a_search_that_is_refused_by_its_fields_needs_no_turn(database, monkeypatch) -> None:
    settings = Settings(max_concurrent_searches=1)
    monkeypatch.setattr(main, "MAX_WAITING_SEARCHES", 0)
    services = await harness.services(database)
    async with (
        harness.running(settings, services) as app,
        harness.client(app) as client,
        app.state.searches.turn("somebody else"),
    ):
        assert_problem(await client.post("/api/rag/search", json={"limit": 3}), 422, "invalid_request", "query")
