"""Fixtures that store documents and run the hybrid statement for a new user."""

from uuid import UUID

import hybrid
import pytest

from app.database.transactions import Database
from app.enums import Vector
from app.query.search_types import HybridResult
from benchmarks.fake_embedder import FakeEmbedder


@pytest.fixture
def put(database: Database, embedder: FakeEmbedder, user: str):
    async def stored(*texts: str, embedded: list[Vector] | None = None, **attributes) -> UUID:
        draft = hybrid.draft(*texts, **attributes)
        return await hybrid.store(database, user, draft, embedded=embedded, embedder=embedder)

    return stored


@pytest.fixture
def find(database: Database, user: str):
    async def found(words: str | None = None, vector: Vector | None = None, **options) -> HybridResult:
        return await hybrid.run(database, hybrid.request(user, words, vector, **options))

    return found


@pytest.fixture
def by_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scope counts as too large for an exact scan."""
    hybrid.scan_up_to(monkeypatch)


@pytest.fixture(params=[False, True], ids=["exact", "graph"])
def graph(request: pytest.FixtureRequest) -> bool:
    """Whether every scope counts as too large for an exact scan; a test runs both ways."""
    if request.param:
        request.getfixturevalue("by_graph")
    return bool(request.param)
