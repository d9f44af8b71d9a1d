"""The database and the embedder of tests that send requests, for the folders whose conftest imports them."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.access import keys
from app.database.transactions import Database
from benchmarks.fake_embedder import FakeEmbedder


@pytest.fixture(scope="module", autouse=True)
def patient_lookups() -> Iterator[None]:
    """The look-up of a key waits for the database longer than a busy machine stops a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "LOOKUP_S", 30.0)
        yield


@pytest.fixture(scope="module")
def embedder(shared_embedder: FakeEmbedder) -> FakeEmbedder:
    """What the application embeds with; a test that makes it fail mends it."""
    return shared_embedder


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
