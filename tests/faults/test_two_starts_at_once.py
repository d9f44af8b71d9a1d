"""Two instances that start at once on an empty data folder share one database and its schema.

tests/migrations upgrades a database twice at once, and `make faults` starts four whole services.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import harness
import httpx
import running_service
import server_folders
from running_service import DOCUMENTS, SEARCH

from app import runtime
from app.settings import Settings


async def test_instances_that_start_together_on_an_empty_folder_share_one_database() -> None:
    with server_folders.temporary() as folder:
        async with AsyncExitStack() as stack:
            first, *others = await (_processes if running_service.FULL else _instances)(stack, folder / "data")
            assert (await first.post(DOCUMENTS, json={"content": "We use lime.", "uri": "lime"})).status_code == 201
            for other in others:
                found = (await other.post(SEARCH, json={"query": "lime"})).json()["results"]
                assert [hit["uri"] for hit in found] == ["lime"]


async def _instances(stack: AsyncExitStack, data: Path) -> list[httpx.AsyncClient]:
    """Clients of two instances in this process, which import nothing first and so start at the same moment."""
    settings = Settings(data_dir=data, auth="none")
    opening = (stack.enter_async_context(runtime.open_services(settings)) for _ in range(2))
    apps = [
        await stack.enter_async_context(harness.running(settings, services))
        for services in await asyncio.gather(*opening)
    ]
    return [await stack.enter_async_context(harness.client(app)) for app in apps]


async def _processes(stack: AsyncExitStack, data: Path) -> list[httpx.AsyncClient]:
    """Clients of four services."""
    env = {"STEPWELL_DATA_DIR": str(data), "DATABASE_URL": ""}
    starting = [await stack.enter_async_context(running_service.process(**env)) for _ in range(4)]
    await asyncio.gather(*(running_service.answers(*one) for one in starting))
    return [client for _, client in starting]
