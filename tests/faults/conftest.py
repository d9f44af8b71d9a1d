"""A server that a test of faults may stop, freeze or kill."""

from collections.abc import AsyncIterator

import pytest
import server_folders

from app.database.embedded import postgres
from app.database.schema import migration
from app.models.local.minilm import MODEL


@pytest.fixture(scope="module")
async def own_server() -> AsyncIterator[postgres.EmbeddedPostgres]:
    """A migrated server of the module's own, for vectors of the offline model's length."""
    with server_folders.temporary() as folder:
        async with postgres.EmbeddedPostgres(folder / "data", tuning=postgres.SMALL) as started:
            await migration.upgrade(started.owner_dsn, model=MODEL.name, dimension=MODEL.dimension)
            yield started
