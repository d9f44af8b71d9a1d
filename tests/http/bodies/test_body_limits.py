"""A body has a limit of size that its route sets, and arrives in time, or its connection ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import example_app
import httpx
import pytest
from api_caller import Caller
from example_app import assert_problem
from fastapi import APIRouter, Request

from app.http import bodies

STEADY = {"bytes_per_s": 1, "max_bytes": 10**9, "longest_s": 0.05}
"""Limits within which all but the longest time is allowed."""


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
        "/api/rag/search": 256_000,
        "/api/rag/rerank": 2_000_000,
        "/api/rag/entities": 10_000_000,
        "/api/rag/documents": 64_000_000,
    }
    for path, most in limits.items():
        refused = await caller.client.post(path, content=b"a" * (most + 1))
        assert f"{most:,} bytes" in assert_problem(refused, 413, "too_large")["detail"]
        assert (await caller.client.post(path, content=b"a" * most)).status_code == 415


@pytest.mark.parametrize(("declared", "most_pieces"), [(True, 0), (False, 101)])
async def test_a_body_past_the_cap_is_413_and_what_lies_past_it_is_not_read(declared, most_pieces):
    read = 0

    async def pieces():
        nonlocal read
        for _ in range(1_000):
            read += 1
            yield b"a" * 100_000

    headers = {"Content-Type": "application/json"} | ({"Content-Length": "100000000"} if declared else {})
    async with example_app.calling(example_app.make()) as client:
        sent = await client.post("/rag/search", content=pieces(), headers=headers)
    assert "10,000,000 bytes" in assert_problem(sent, 413, "too_large")["detail"]
    assert read <= most_pieces
