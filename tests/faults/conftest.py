"""Databases of the fault tests store vectors of the offline model's dimension."""

from collections.abc import AsyncIterator

import pytest
import server_folders

from app.database.embedded import postgres
from app.database.schema import migration
from app.models.local.minilm import MODEL


@pytest.fixture(scope="session")
def template(wide_template: str) -> str:
    """The template database for vectors of the offline model's dimension."""
    return wide_template


@pytest.fixture(scope="module")
async def own_server() -> AsyncIterator[postgres.EmbeddedPostgres]:
    """A migrated server of the module's own, which a test may stop, freeze or kill."""
    with server_folders.temporary() as folder:
        async with postgres.EmbeddedPostgres(folder / "data", tuning=postgres.SMALL) as started:
            await migration.upgrade(started.owner_dsn, model=MODEL.name, dimension=MODEL.dimension)
            yield started
