"""Starts the whole application on real Postgres; every caller is a new user with an API key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

import harness
import pytest
from api_caller import Caller
from fastapi import FastAPI

from app.config import Settings
from app.pipelines.maintenance import keys
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


@pytest.fixture(scope="module")
def embedder() -> FakeEmbedder:
    """What the application embeds with."""
    return FakeEmbedder()


@pytest.fixture(scope="module")
async def app(database: Database, embedder: FakeEmbedder) -> AsyncIterator[FastAPI]:
    """The application as many users share it."""
    async with harness.running(Settings(auth="api_key"), await harness.services(database, embedder)) as running:
        yield running


@pytest.fixture(scope="module")
async def open_app(database: Database) -> AsyncIterator[FastAPI]:
    """The application for one user, without keys."""
    async with harness.running(Settings(auth="none"), await harness.services(database)) as running:
        yield running


@pytest.fixture(scope="module")
async def owning(database: Database) -> AsyncIterator[Database]:
    """The module's database, opened as its owner."""
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
