"""The corridor's tests run on real Postgres, each as a user of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import given
import pytest

from app.providers.minilm import MiniLM
from app.store.db import Database


@pytest.fixture(scope="session")
def template(wide_template: str) -> str:
    """Databases here are for vectors of the offline model's length."""
    return wide_template


@pytest.fixture(scope="session")
async def minilm() -> AsyncIterator[MiniLM]:
    model = await MiniLM.load()
    yield model
    await model.aclose()


@pytest.fixture
def world(database: Database) -> given.World:
    """An empty user with the fake embedder."""
    return given.World(database)


@pytest.fixture
def real_world(database: Database, minilm: MiniLM) -> given.World:
    """An empty user with the real model."""
    return given.World(database, embedder=minilm)
