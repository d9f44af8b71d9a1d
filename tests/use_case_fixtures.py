"""Fixtures of the pipeline tests: a new user on real Postgres, with the fake or the offline model."""

from collections.abc import AsyncIterator
from typing import Any

import harness
import pytest

from app.database import transactions
from app.database.transactions import Database
from app.models.local.onnx_embedder import OnnxEmbedder


@pytest.fixture
def tenant(database: Database) -> harness.Tenant:
    """A new user with the fake embedder."""
    return harness.Tenant(database)


@pytest.fixture
async def elsewhere(address: Any) -> AsyncIterator[Database]:
    """Another process's view of the same database."""
    opened = transactions.connect(address.service_dsn, pool_size=2, pool_wait_s=30.0)
    yield opened
    await opened.close()


@pytest.fixture
def minilm_tenant(database: Database, offline_embedder: OnnxEmbedder) -> harness.Tenant:
    """A new user with the offline model."""
    return harness.Tenant(database, embedder=offline_embedder)
