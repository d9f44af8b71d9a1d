"""Responses while Postgres is frozen: its sockets stay open, and no server-side timeout runs."""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asyncpg
import harness
import httpx
import openapi_operations
import psutil
import pytest
import running_service
from harness import Tenant
from running_service import DOCUMENTS, SEARCH, locked_chunks, unavailable, until

from app.database import pools, sqlalchemy_engines, transactions
from app.database.embedded import postgres
from app.database.transactions import Database, TimeLimits
from app.settings import Settings

WITHOUT_DATABASE = ("/healthz", "/metrics", "/api/rag/rerank", "/api/rag/tools", "/api/rag/tools/openapi.json")
KEYED_S, WHOLE_S = 2.0, 10.0
"""Seconds within which a request with a key, and any request, must be answered, with time for a busy machine."""


@contextmanager
def _frozen(server: postgres.EmbeddedPostgres) -> Iterator[None]:
    assert server.postmaster_pid is not None
    postmaster = psutil.Process(server.postmaster_pid)
    stopped = [postmaster, *postmaster.children(recursive=True)]
    try:
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        yield
    finally:
        for process in stopped:
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)


@asynccontextmanager
async def _serving(
    server: postgres.EmbeddedPostgres, auth: Any, *, limits: TimeLimits | None = None, worker: bool = True
) -> AsyncIterator[tuple[httpx.AsyncClient, Database]]:
    """The service with one document of the user of its key, over a socket."""
    user_id = "local" if auth == "none" else harness.new_user()
    with tempfile.TemporaryDirectory() as folder:
        for letters in ("letters", f"{user_id}/letters"):  # the source of the example
            (Path(folder) / letters).mkdir(parents=True)
        settings = Settings(auth=auth, max_concurrent_searches=8, worker=worker, source_roots=(folder,))
        pool = {"limits": limits, "pool_wait_s": 1.0}
        async with running_service.serving(server, settings, pool=pool) as (client, database, _app):
            await Tenant(database, user_id=user_id).add("We use lime.", "lime")
            client.headers["X-API-Key"] = await harness.create_key(database, user_id, "admin")
            yield client, database


async def _timed(client: httpx.AsyncClient, method: str, path: str, *body: str | None) -> tuple[httpx.Response, float]:
    began = time.perf_counter()
    response = await client.request(method, path, **openapi_operations.request(*body or (None, None)))
    return response, time.perf_counter() - began


@pytest.mark.parametrize("auth", ["none", "api_key"])
async def test_every_route_answers_in_time_while_postgres_is_frozen_and_works_again_afterwards(own_server, auth):
    limits = None if running_service.FULL else TimeLimits(read_ms=2_000)
    async with _serving(own_server, auth, limits=limits) as (client, database):
        assert (await client.post(SEARCH, json={"query": "lime"})).status_code == 200
        requests = [
            (method, openapi_operations.usable(path, operation), *next(openapi_operations.bodies(operation))[1:])
            for method, path, operation in openapi_operations.OPERATIONS.values()
        ]
        with _frozen(own_server):
            async with asyncio.timeout(WHOLE_S):
                answered = await asyncio.gather(*(_timed(client, *request) for request in requests))
        for (_method, path, *_body), (response, _took) in zip(requests, answered, strict=True):
            if response.status_code == 503:
                assert response.json()["code"] in ("database_unavailable", "busy", "overloaded")
                assert response.headers["retry-after"]
            else:
                assert path.partition("?")[0] in WITHOUT_DATABASE, (path, response.text)
                assert response.status_code == 200
        await until(lambda: database.in_use() == 0)
        assert (await client.post(SEARCH, json={"query": "lime"})).status_code == 200
        assert (await client.post(DOCUMENTS, json={"content": "Clay."})).status_code == 201
        await until(lambda: _ready(client))  # a result is kept for two seconds


async def test_a_key_is_not_looked_up_for_longer_than_a_second_and_the_outage_is_logged_once(
    own_server, caplog
) -> None:
    async with _serving(own_server, "api_key") as (client, _database):
        with _frozen(own_server):
            for path in (DOCUMENTS, "/readyz"):
                response, took = await _timed(client, "GET", path)
                unavailable(response)
                assert took < KEYED_S
            assert [record.action for record in caplog.records if hasattr(record, "action")] == ["database_lost"]


async def test_a_statement_that_is_running_when_postgres_freezes_ends_and_its_connection_is_not_used_again(own_server):
    limits = TimeLimits(read_ms=1_500)
    # A worker would use connections of its own now and then.
    async with _serving(own_server, "none", limits=limits, worker=False) as (client, database):
        connect = partial(asyncpg.connect, own_server.dsn(user=postgres.OWNER, driver="postgresql"))
        async with locked_chunks(SimpleNamespace(connect=connect)) as hold:
            asked = asyncio.create_task(client.post(SEARCH, json={"query": "lime"}))
            await hold.reached(1)
            with _frozen(own_server):
                async with asyncio.timeout(WHOLE_S):
                    unavailable(await asked)
                await until(lambda: database.in_use() == 0)
            await hold.release()
        assert await asyncio.gather(*(_first(client) for _ in range(4))) == ["lime"] * 4


async def test_a_shutdown_does_not_wait_for_a_frozen_server(own_server: postgres.EmbeddedPostgres) -> None:
    database = transactions.connect(own_server.service_dsn)
    async with AsyncExitStack() as stack:
        for _ in range(8):
            await stack.enter_async_context(database.shared())
    with _frozen(own_server):
        async with asyncio.timeout(pools.DISPOSE_S + sqlalchemy_engines.CLOSE_S + 1):
            await database.close()


async def _first(client: httpx.AsyncClient) -> str:
    uri: str = (await client.post(SEARCH, json={"query": "lime"})).json()["results"][0]["uri"]
    return uri


async def _ready(client: httpx.AsyncClient) -> bool:
    return (await client.get("/readyz")).status_code == 200
