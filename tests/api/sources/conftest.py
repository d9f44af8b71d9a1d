"""The application whose users may add sources, each below a folder of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import harness
import pytest
from fastapi import FastAPI

from app.config import Settings
from app.shapes.sources import SourceRoots
from app.store.connection.transactions import Database
from benchmarks.fake_embedder import FakeEmbedder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a subfolder for each user."""
    return tmp_path_factory.mktemp("root").resolve()


@pytest.fixture(scope="module")
async def app(database: Database, embedder: FakeEmbedder, root: Path) -> AsyncIterator[FastAPI]:
    """The application with that folder."""
    services = await harness.services(database, embedder)
    services = replace(services, source_roots=SourceRoots((root,), per_user=True))
    async with harness.running(Settings(auth="api_key"), services) as running:
        yield running
