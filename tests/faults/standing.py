"""How do the tests of faults run the service, hold up its queries and see what is left of them?"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import uvicorn
from fastapi import FastAPI

ROOT = Path(__file__).parents[2]
FULL = os.environ.get("STEPWELL_FAULTS") == "full"
"""Whether `make faults` asks for the long version of each."""
PATIENCE_S = 60.0
SEARCH, DOCUMENTS = "/api/rag/search", "/api/rag/documents"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def until(happened: Callable[[], Awaitable[bool]]) -> None:
    """Return once it happened."""
    async with asyncio.timeout(PATIENCE_S):
        while not await happened():  # noqa: ASYNC110 - another process cannot set an event
            await asyncio.sleep(0.01)


class Held:
    """Searches and writes hang while this stands: their table is locked."""

    def __init__(self, owner: asyncpg.Connection, watcher: asyncpg.Connection) -> None:
        self._watcher = watcher
        self._lock = owner.transaction()
        self._owner = owner

    async def begin(self) -> None:
        """Lock the chunks."""
        await self._lock.start()
        await self._owner.execute("LOCK TABLE stepwell.chunks IN ACCESS EXCLUSIVE MODE")

    async def release(self) -> None:
        """Let everything go on. Twice is fine."""
        if self._owner.is_in_transaction():
            await self._lock.rollback()

    async def hanging(self) -> int:
        """How many backends wait for the lock."""
        return int(await self._watcher.fetchval(WAITING))

    async def reached(self, count: int) -> None:
        """Return once exactly so many wait."""

        async def there() -> bool:
            return await self.hanging() == count

        await until(there)

    async def terminate(self) -> int:
        """End every connection of the service and wait until each has ended; returns how many there were."""
        return int(await self._watcher.fetchval(TERMINATE))


TERMINATE = """
SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
WHERE datname = current_database() AND usename = 'stepwell_service'
"""


@asynccontextmanager
async def held(address: Any) -> AsyncIterator[Held]:
    """Searches of this database hang until the block ends, or until they are released."""
    owner, watcher = await address.connect(), await address.connect()
    standing = Held(owner, watcher)
    await standing.begin()
    try:
        yield standing
    finally:
        await standing.release()
        await owner.close()
        await watcher.close()


@asynccontextmanager
async def listening(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application, over a real socket: only there can a caller leave."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="off", log_config=None, access_log=False))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn sets no event
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as client:
            yield client
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def process(**env: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, httpx.AsyncClient]]:
    """`stepwell serve` as a process of its own, with its settings, and a client of it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STEPWELL_")}
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app", "serve", cwd=ROOT, stderr=asyncio.subprocess.DEVNULL,
        env={**inherited, **env, "STEPWELL_PORT": str(port)},
    )  # fmt: skip
    try:
        limits = httpx.Limits(max_connections=None)
        address = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=address, timeout=PATIENCE_S, limits=limits) as client:
            yield started, client
    finally:
        if started.returncode is None:
            started.terminate()
            await started.wait()


async def answers(started: asyncio.subprocess.Process, client: httpx.AsyncClient, path: str = "/readyz") -> None:
    """Return once the process answers."""

    async def there() -> bool:
        assert started.returncode is None, "the service did not start"
        try:
            return (await client.get(path)).status_code == 200
        except httpx.ConnectError:
            return False

    await until(there)


def unavailable(response: httpx.Response, code: str = "database_unavailable") -> None:
    """The answer is a 503 that says what is the matter and when to come back."""
    assert (response.status_code, response.json()["code"]) == (503, code), response.text
    assert response.headers["retry-after"] == "1"
