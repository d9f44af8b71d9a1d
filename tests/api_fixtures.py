"""Starts the whole application on real Postgres; every caller is a new user with an API key."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import harness
import pytest
from api_caller import Caller
from fastapi import FastAPI

from app.concurrency.limiter import Limiter
from app.database import transactions
from app.database.transactions import Database
from app.http import admission
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder


@pytest.fixture(scope="session")
def shared_embedder() -> FakeEmbedder:
    """What the shared application embeds with."""
    return FakeEmbedder()


@pytest.fixture(scope="session")
async def shared_address(new_database: Callable[..., Awaitable[Any]], wide_template: str) -> Any:
    """The address of a database that all modules share: each test has users of its own."""
    return await new_database(wide_template)


@pytest.fixture(scope="session")
async def shared_database(shared_address: Any) -> AsyncIterator[Database]:
    """The shared database, opened as the service's role."""
    async with transactions.connect(shared_address.service_dsn, pool_size=4, pool_wait_s=30.0) as opened:
        yield opened


@pytest.fixture(scope="session")
async def shared_app(shared_database: Database, shared_embedder: FakeEmbedder) -> AsyncIterator[FastAPI]:
    """The application as many users share it: one for all modules, because its routes take a second to build."""
    services = await harness.services(shared_database, shared_embedder)
    async with harness.running(Settings(auth="api_key"), services) as running:
        yield running


@pytest.fixture(scope="module")
def app(shared_app: FastAPI) -> FastAPI:
    """The application that callers use; modules that need other settings or services override it."""
    return shared_app


@pytest.fixture(scope="module")
async def open_app(own_database: Database) -> AsyncIterator[FastAPI]:
    """The application for one user, without keys, on a database of its own."""
    async with harness.running(Settings(auth="none"), await harness.services(own_database)) as running:
        yield running


@pytest.fixture(scope="module")
async def owning(database: Database) -> AsyncIterator[Database]:
    """The database, opened as its owner."""
    async with harness.as_owner(database) as opened:
        yield opened


@pytest.fixture(scope="module")
async def callers(app: FastAPI, owning: Database) -> AsyncIterator[Callable[..., Awaitable[Caller]]]:
    """Makes a key of a user, and a client that sends it."""
    async with AsyncExitStack() as stack:

        async def made(user_id: str, *scopes: str, **fields: Any) -> Caller:
            key = await harness.create_key_as(owning, user_id, *scopes, **fields)
            client = await stack.enter_async_context(harness.client(app, Authorization=f"Bearer {key}"))
            return Caller(user_id, key, client)

        yield made


@pytest.fixture(scope="module")
def new_caller(callers: Callable[..., Awaitable[Caller]]) -> Callable[..., Awaitable[Caller]]:
    """Makes a user that nobody knew before, with a key of the given scopes."""
    return lambda *scopes: callers(harness.new_user(), *scopes)


@pytest.fixture
async def caller(new_caller: Callable[..., Awaitable[Caller]]) -> Caller:
    """A user who may search and write."""
    return await new_caller("search", "write")


@pytest.fixture
async def busy(app: FastAPI, new_caller: Callable[..., Awaitable[Caller]]) -> AsyncIterator[Caller]:
    """A user all of whose turns to read are taken, and for whom none becomes free in time."""
    kept, reads = app.state.reads, Limiter(9, of_user=admission.READS_OF_USER, max_waiting=9, timeout_s=0.01)
    caller = await new_caller("search", "write")
    async with AsyncExitStack() as stack:
        for _ in range(admission.READS_OF_USER):
            await stack.enter_async_context(reads.turn(caller.user_id))
        app.state.reads = reads
        yield caller
    app.state.reads = kept
