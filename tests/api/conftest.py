"""Starts the whole application on real Postgres; every caller is a new user with an API key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import harness
import pytest
from api_caller import Caller
from fastapi import FastAPI

from app.config import Settings
from app.pipelines.maintenance import keys
from app.store.connection import transactions
from app.store.connection.transactions import Database
from benchmarks.fake_embedder import FakeEmbedder


@pytest.fixture(scope="session")
def template(wide_template: str) -> str:
    """Databases here are for vectors of the offline model's length."""
    return wide_template


@pytest.fixture(scope="module", autouse=True)
def patient_lookups() -> Iterator[None]:
    """The look-up of a key waits for the database longer than a busy machine stops a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "LOOKUP_S", 30.0)
        yield


@asynccontextmanager
async def opened(address: Any) -> AsyncIterator[Database]:
    """A database, opened as the service's role."""
    database = transactions.connect(address.service_dsn, pool_size=4, pool_wait_s=30.0)
    try:
        yield database
    finally:
        await database.close()


@pytest.fixture(scope="session")
def shared_embedder() -> FakeEmbedder:
    """What the shared application embeds with."""
    return FakeEmbedder()


@pytest.fixture(scope="module")
def embedder(shared_embedder: FakeEmbedder) -> FakeEmbedder:
    """What the application embeds with; a test that makes it fail mends it."""
    return shared_embedder


@pytest.fixture(scope="session")
async def shared_address(new_database: Callable[..., Awaitable[Any]], template: str) -> Any:
    """The address of a database that all modules share: each test has users of its own."""
    return await new_database(template)


@pytest.fixture(scope="session")
async def shared_database(shared_address: Any) -> AsyncIterator[Database]:
    """The shared database, opened as the service's role."""
    async with opened(shared_address) as database:
        yield database


@pytest.fixture(scope="session")
async def shared_app(shared_database: Database, shared_embedder: FakeEmbedder) -> AsyncIterator[FastAPI]:
    """The application as many users share it: one for all modules, because its routes take a second to build."""
    services = await harness.services(shared_database, shared_embedder)
    async with harness.running(Settings(auth="api_key"), services) as running:
        yield running


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest) -> Any:
    """The shared database, or that of a module with OWN_DATABASE."""
    return request.getfixturevalue("own_address" if hasattr(request.module, "OWN_DATABASE") else "shared_address")


@pytest.fixture(scope="module")
def database(request: pytest.FixtureRequest) -> Database:
    """The shared database, or that of a module with OWN_DATABASE, opened as the service's role."""
    name = "own_database" if hasattr(request.module, "OWN_DATABASE") else "shared_database"
    opened: Database = request.getfixturevalue(name)
    return opened


@pytest.fixture(scope="module")
async def own_address(new_database: Callable[..., Awaitable[Any]], template: str) -> Any:
    """The address of a database of the module's own."""
    return await new_database(template)


@pytest.fixture(scope="module")
async def own_database(own_address: Any) -> AsyncIterator[Database]:
    """The module's own database, opened as the service's role."""
    async with opened(own_address) as database:
        yield database


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
async def new_caller(app: FastAPI, owning: Database) -> AsyncIterator[Callable[..., Awaitable[Caller]]]:
    """Makes a user that nobody knew before, with a key of the given scopes."""
    async with AsyncExitStack() as stack:

        async def made(*scopes: str) -> Caller:
            user_id = harness.new_user()
            key = await harness.create_key_as(owning, user_id, *scopes)
            return Caller(
                user_id, key, await stack.enter_async_context(harness.client(app, Authorization=f"Bearer {key}"))
            )

        yield made


@pytest.fixture
async def caller(new_caller: Callable[..., Awaitable[Caller]]) -> Caller:
    """A user who may search and write."""
    return await new_caller("search", "write")
