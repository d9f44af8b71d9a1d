"""Runs the service, delays its queries with a table lock, and terminates its connections."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import asyncpg
import harness
import httpx
from fastapi import FastAPI
from raw_connections import reserved_port

from app.database import transactions
from app.database.transactions import Database
from app.settings import Settings

ROOT = Path(__file__).parents[2]
FULL = os.environ.get("STEPWELL_FAULTS") == "full"
"""Whether `make faults` runs the long version of each test."""
PATIENCE_S = 300.0 if FULL else 60.0
START_S = 200.0
"""The most seconds of a start: a busy machine takes more than a minute, and pytest ends a test after 240 s."""
SEARCH, DOCUMENTS = "/api/rag/search", "/api/rag/documents"


async def until(happened: Callable[[], object], *, within_s: float = PATIENCE_S, pause_s: float = 0.01) -> None:
    """Returns once `happened` returns true, or something to await that is true."""
    async with asyncio.timeout(within_s):
        while True:
            found = happened()
            if (await found) if isinstance(found, Awaitable) else found:
                return
            await asyncio.sleep(pause_s)  # another process cannot set an event


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancels requests, whose clients disconnect."""
    for one in tasks:
        one.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class LockedChunks:
    """A lock of the chunks table, which makes searches and writes hang until it is released."""

    def __init__(self, owner: asyncpg.Connection, watcher: asyncpg.Connection) -> None:
        self._owner, self._watcher = owner, watcher

    async def release(self) -> None:
        """Releases the lock; a second call does nothing."""
        if self._owner.is_in_transaction():
            await self._owner.execute("ROLLBACK")

    async def reached(self, count: int) -> None:
        """Returns once exactly `count` backends wait."""

        async def there() -> bool:
            return bool(await self._watcher.fetchval(harness.WAITING) == count)

        await until(there)

    async def terminate(self) -> int:
        """Terminates every connection of the service, waits until each has ended, and returns how many there were."""
        return int(await self._watcher.fetchval(TERMINATE))


TERMINATE = """
SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
WHERE datname = current_database() AND usename = 'stepwell_service'
"""


@asynccontextmanager
async def locked_chunks(address: Any) -> AsyncIterator[LockedChunks]:
    """Makes searches of this database hang until the block ends or the lock is released."""
    owner, watcher = await address.connect(), await address.connect()
    await owner.execute("BEGIN; LOCK TABLE stepwell.chunks IN ACCESS EXCLUSIVE MODE")
    try:
        yield LockedChunks(owner, watcher)
    finally:
        await owner.close()
        await watcher.close()


@asynccontextmanager
async def listening(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Yields a client of the application over a real socket, which a client can close during a request."""
    async with (
        harness.listening(app) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as client,
    ):
        yield client


@asynccontextmanager
async def serving(
    address: Any, settings: Settings | None = None, *, pool: dict[str, Any] | None = None, **parts: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, Database, FastAPI]]:
    """Runs the service on a database, with options of its pool; `parts` are fields of its services."""
    async with transactions.connect(address.service_dsn, **{"pool_wait_s": 30.0, **(pool or {})}) as database:
        services = replace(await harness.services(database), **parts)
        settings = settings or Settings(auth="none", max_concurrent_searches=8)
        async with harness.running(settings, services) as app, listening(app) as client:
            yield client, database, app


async def keys(database: Database, *users: str) -> list[dict[str, str]]:
    """The headers with a new key of each user."""
    return [{"X-API-Key": await harness.create_key(database, user)} for user in users]


@asynccontextmanager
async def process(
    *, log: IO[bytes] | int = asyncio.subprocess.DEVNULL, folder: Path = ROOT, **env: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, httpx.AsyncClient]]:
    """Runs `stepwell serve` in a new process with the given settings and yields it with a client.

    It logs to `log`, and is started in `folder`.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STEPWELL_")}
    with reserved_port() as port:
        started = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "app", "serve", cwd=folder, stderr=log,
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
    """Returns once the process answers `path` with 200."""

    async def there() -> bool:
        assert started.returncode is None, "the service did not start"
        try:
            return (await client.get(path)).status_code == 200
        except httpx.ConnectError:
            return False

    await until(there, within_s=START_S)


def unavailable(response: httpx.Response, code: str = "database_unavailable") -> None:
    """Asserts that the response is a 503 with this code and a Retry-After header."""
    assert (response.status_code, response.json()["code"]) == (503, code), response.text
    assert response.headers["retry-after"] == "1"
