"""Tests that a request is authenticated before its body is read within limits of size and time."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import example_app
import harness
import httpx
import pytest
from api_caller import Caller
from example_app import assert_problem
from fastapi import APIRouter, FastAPI, Request
from openapi_operations import DOCUMENT

from app.database import transactions
from app.database.transactions import Database
from app.errors import DatabaseUnavailable
from app.http import admission, bodies
from app.http.auth import MAX_GUESSES
from app.http.health import ReadinessCheck
from app.settings import Settings

OPEN = {"/healthz", "/readyz"}
SEARCH = "/api/rag/search"


def operations() -> Iterator[Any]:
    """Every operation but the health checks: method and path."""
    for path, item in DOCUMENT["paths"].items():
        for method in item if path not in OPEN else ():
            yield pytest.param(method.upper(), path.replace("{", "").replace("}", ""), id=f"{method} {path}")


async def unread() -> AsyncIterator[bytes]:
    """A body that is an error to read."""
    pytest.fail("the body was read")
    yield b""


@pytest.mark.parametrize(("method", "path"), list(operations()))
async def test_without_a_valid_key_no_byte_of_a_body_is_read(app: FastAPI, method: str, path: str) -> None:
    body = {"Content-Type": "application/json", "Content-Length": "17"}
    guessed = {"Authorization": "Bearer sw_" + "0" * 12 + "_" + "0" * 43}
    async with harness.client(app) as client:
        for headers in (body, {**body, **guessed, "Content-Length": "99999999999"}):
            response = await client.request(method, path, content=unread(), headers=headers)
            assert_problem(response, 401, "unauthorized")


async def test_a_key_without_the_scope_is_refused_before_the_body_is_read(app: FastAPI, new_caller: Any) -> None:
    reader: Caller = await new_caller("search")
    headers = {"X-API-Key": reader.key, "Content-Type": "application/json", "Content-Length": "17"}
    async with harness.client(app) as client:
        assert (await client.post("/api/rag/documents", content=unread(), headers=headers)).status_code == 403


class Impatient(bodies.StrictRoute):
    """A route with limits that a test reaches at once."""

    limits = bodies.BodyLimits(10_000, seconds=0.05, bytes_per_s=1_000_000)


@asynccontextmanager
async def impatient() -> AsyncIterator[httpx.AsyncClient]:
    """A client of the example application with a route that waits 50 ms for a body."""
    router = APIRouter(route_class=Impatient)

    @router.post("/length")
    async def length(request: Request) -> int:
        return len(await request.body())

    app = example_app.build()
    app.include_router(router)
    async with example_app.calling(app) as client:
        yield client


async def stopping() -> AsyncIterator[bytes]:
    """A body of which nothing arrives after its beginning."""
    yield b"a" * 100
    await asyncio.Event().wait()


async def trickling(size: int = 1) -> AsyncIterator[bytes]:
    """A body without end, of pieces with short pauses."""
    while True:
        yield b"a" * size
        await asyncio.sleep(0.001)


STEADY = {"bytes_per_s": 1, "max_bytes": 10**9, "longest_s": 0.05}
"""Limits within which all but the longest time is allowed."""


@pytest.mark.parametrize(
    ("body", "limits"),
    [(stopping, {}), (trickling, {}), (partial(trickling, 100), STEADY)],
    ids=["stops", "trickles", "takes longest"],
)
async def test_a_body_that_does_not_arrive_in_time_is_408_and_ends_the_connection(monkeypatch, body, limits) -> None:
    monkeypatch.setattr(Impatient, "limits", replace(Impatient.limits, **limits))
    async with impatient() as client:
        response = await client.post("/length", content=body())
        assert assert_problem(response, 408, "request_timeout")["detail"]
        assert response.headers["connection"] == "close"
        assert (await client.post("/length", content=b"a" * 100)).json() == 100


async def test_each_route_has_its_own_size_limit(caller: Caller) -> None:
    limits = {
        SEARCH: 256_000,
        "/api/rag/rerank": 2_000_000,
        "/api/rag/entities": 10_000_000,
        "/api/rag/documents": 64_000_000,
    }
    for path, most in limits.items():
        refused = await caller.client.post(path, content=b"a" * (most + 1))
        assert f"{most:,} bytes" in assert_problem(refused, 413, "too_large")["detail"]
        assert (await caller.client.post(path, content=b"a" * most)).status_code == 415


async def test_guessed_keys_share_few_lookups_and_a_key_that_was_valid_does_not_wait_for_them(
    app: FastAPI, caller: Caller, database: Database, owner: Any
) -> None:
    assert (await caller.client.get("/api/rag/stats")).status_code == 200
    guesses = [f"sw_{number:012x}_" + "0" * 43 for number in range(20)]

    async def reached(count: int) -> None:
        async with asyncio.timeout(30):
            while database.in_use() != count:  # noqa: ASYNC110 - the pool sets no event
                await asyncio.sleep(0)

    async with harness.client(app) as client:
        async with owner.transaction():
            await owner.execute("LOCK TABLE stepwell.api_keys IN ACCESS EXCLUSIVE MODE")
            asked = [asyncio.create_task(client.get("/api/rag/stats", headers={"X-API-Key": key})) for key in guesses]
            await reached(MAX_GUESSES)
            valid = [asyncio.create_task(caller.client.get("/api/rag/stats")) for _ in range(5)]
            await reached(MAX_GUESSES + 1)  # one look-up for all five
        assert {(await one).status_code for one in asked} == {401}
        assert {(await one).status_code for one in valid} == {200}


async def test_readiness_is_checked_once_in_two_seconds(database: Database) -> None:
    good = await harness.services(database)
    lost = replace(good, db=transactions.connect("postgresql://stepwell@/stepwell?host=/nonexistent/socket/folder"))
    ready, unready = ReadinessCheck(), ReadinessCheck()
    await asyncio.gather(*(ready(good) for _ in range(5)))
    await ready(lost)
    with pytest.raises(DatabaseUnavailable):
        await unready(lost)
    with pytest.raises(DatabaseUnavailable):
        await unready(good)
    await lost.db.close()


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
