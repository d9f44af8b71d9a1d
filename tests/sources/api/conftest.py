"""The application whose users may add sources, each below a folder of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import harness
import pytest
from fastapi import FastAPI

from app.database.transactions import Database
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a subfolder for each user."""
    return tmp_path_factory.mktemp("root").resolve()


@pytest.fixture(scope="module")
async def app(database: Database, embedder: FakeEmbedder, root: Path) -> AsyncIterator[FastAPI]:
    """The application with that folder."""
    settings = Settings(auth="api_key", source_roots=(str(root),))
    async with harness.running(settings, await harness.services(database, embedder)) as running:
        yield running
