"""Two instances that start at once on an empty data folder or an empty database share one schema."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import running_service
import server_folders
from running_service import DOCUMENTS, SEARCH

from app.providers.local.minilm import MODEL
from app.store.maintenance import migration

INSTANCES = 4 if running_service.FULL else 2


async def test_instances_that_start_together_on_an_empty_folder_share_one_database() -> None:
    with server_folders.temporary() as folder:
        async with AsyncExitStack() as stack:
            data = str(folder / "data")
            starting = [await stack.enter_async_context(_instance(data)) for _ in range(INSTANCES)]
            await asyncio.gather(*(running_service.answers(*one) for one in starting))
            (_, first), *others = starting
            assert (await first.post(DOCUMENTS, json={"content": "We use lime.", "uri": "lime"})).status_code == 201
            for _, other in others:
                found = (await other.post(SEARCH, json={"query": "lime"})).json()["results"]
                assert [hit["uri"] for hit in found] == ["lime"]


def _instance(data: str) -> Any:
    return running_service.process(STEPWELL_DATA_DIR=data, DATABASE_URL="")


async def test_concurrent_upgrades_of_an_empty_database_create_one_schema(
    new_database: Callable[..., Awaitable[Any]],
) -> None:
    address = await new_database()
    upgrades = (migration.upgrade(address.owner_dsn, model=MODEL.name, dimension=MODEL.dimension) for _ in range(4))
    assert set(await asyncio.gather(*upgrades)) == {migration.head()}
