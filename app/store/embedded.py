"""Runs a Postgres server on the data dir when no database is configured.

A real server (Postgres 18 with pgvector, from a wheel) is started on the data dir, or joined if it runs. It is shared
by every process that uses the data dir, brought back within seconds if it dies, and stopped by the last one to leave.
It listens on a socket in a private folder only, and lets in the user who runs us (and root), whom the kernel names
(`peer`).
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import asyncpg

from app.errors import EmbeddedServerError
from app.store import embedded_files, embedded_server, embedded_settings

log = logging.getLogger(__name__)

OWNER = "postgres"
DATABASE = "stepwell"
SERVICE_ROLE = "stepwell_service"
SERVICE_RIGHTS = "LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION"
SOCKET_ROOT = Path("/tmp")
"""Where a short private folder for the socket is made if the data dir's own path is too long for one."""
WATCH_S = 0.25
MAX_PAUSE_S = 5.0
ACCEPT_WAIT_S = 30.0
PRUNE_S = 60.0

default_data_dir = embedded_files.default_data_dir
Tuning = embedded_settings.Tuning
SMALL = embedded_settings.SMALL


class EmbeddedPostgres:
    """The server of a data dir, for as long as the `async with` block (or start to stop) lasts."""

    def __init__(self, data_dir: Path, *, tuning: Tuning | None = None, socket_root: Path = SOCKET_ROOT) -> None:
        tuning = tuning or embedded_settings.for_this_machine()
        self._server = embedded_server.Server(data_dir, tuning=tuning, socket_root=socket_root)
        self._watcher: asyncio.Task[None] | None = None

    @property
    def owner_dsn(self) -> str:
        """SQLAlchemy's address of the database as the superuser, for migrations."""
        return self.dsn(user=OWNER)

    @property
    def service_dsn(self) -> str:
        """SQLAlchemy's address of the database as the role that row-level security applies to."""
        return self.dsn(user=SERVICE_ROLE)

    @property
    def postmaster_pid(self) -> int | None:
        """The server's process id, as last seen."""
        return self._server.postmaster_pid

    def dsn(self, *, user: str, database: str = DATABASE, driver: str = "postgresql+asyncpg") -> str:
        """The address of `database` for `user`, the same after every restart; asyncpg itself wants `postgresql`."""
        socket_folder = quote(str(self._server.layout.sockets), safe="/")
        return f"{driver}://{quote(user)}@/{quote(database)}?host={socket_folder}&port=5432"

    async def start(self) -> Self:
        """Join or start the server, see to database and role, and watch over it. Raises EmbeddedServerError."""
        try:
            await _to_its_end(self._server.join)
            atexit.register(self._leave_at_exit)
            await self.ensure_database_and_role()
        except BaseException:
            await self.stop()
            raise
        self._watcher = asyncio.create_task(self.watch(), name="watch the embedded Postgres")
        return self

    async def stop(self) -> None:
        """Leave; the last client to leave shuts the server down. Stopping twice is fine."""
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
            self._watcher = None
        await _to_its_end(self._server.leave)
        atexit.unregister(self._leave_at_exit)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def watch(self) -> None:
        """Bring the server back whenever it dies, until cancelled; start() runs this already."""
        pause, pruned = WATCH_S, time.monotonic()
        while True:
            await asyncio.sleep(pause)
            pause = WATCH_S if self._server.alive() or await self._brought_back() else min(2 * pause, MAX_PAUSE_S)
            if time.monotonic() - pruned > PRUNE_S:
                await asyncio.to_thread(self._server.prune_logs)
                pruned = time.monotonic()

    async def _brought_back(self) -> bool:
        log.warning("the embedded Postgres is gone; bringing it back")
        try:
            await asyncio.to_thread(self._server.ensure_up)
        except Exception as error:
            log.error("the embedded Postgres could not be brought back: %s", error)
            return False
        return True

    async def ensure_running(self) -> None:
        """Return once the server accepts connections, starting it if it died: for callers whose connection broke.

        Raises EmbeddedServerError if it cannot be started, or accepts no connection within ACCEPT_WAIT_S seconds.
        """
        if not self._server.joined:
            raise EmbeddedServerError("The embedded Postgres is not in use: start() comes first.")
        if not self._server.alive():
            await asyncio.to_thread(self._server.ensure_up)
        (await self._connect()).terminate()

    async def ensure_database_and_role(self) -> None:
        """Create the database and the service's role if missing, and take from the role whatever it must not have."""
        connection = await self._connect()
        try:
            if not await connection.fetchval("SELECT true FROM pg_database WHERE datname = $1", DATABASE):
                with suppress(asyncpg.DuplicateDatabaseError, asyncpg.UniqueViolationError):
                    await connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8'")
            if not await connection.fetchval("SELECT true FROM pg_roles WHERE rolname = $1", SERVICE_ROLE):
                with suppress(asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
                    await connection.execute(f"CREATE ROLE {SERVICE_ROLE} {SERVICE_RIGHTS}")
            if await connection.fetchval(ROLE_EXCEEDS_RIGHTS, SERVICE_ROLE):
                await connection.execute(f"ALTER ROLE {SERVICE_ROLE} {SERVICE_RIGHTS}")
        finally:
            await connection.close()

    async def _connect(self) -> asyncpg.Connection:
        """A superuser's connection to the maintenance database, once the server accepts one."""
        deadline = time.monotonic() + ACCEPT_WAIT_S
        while True:
            try:
                return await asyncpg.connect(self.dsn(user=OWNER, database="postgres", driver="postgresql"), timeout=5)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                if time.monotonic() > deadline or isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
                    raise EmbeddedServerError(f"The embedded Postgres accepts no connection: {error}") from error
            await asyncio.sleep(0.05)

    def _leave_at_exit(self) -> None:
        with suppress(EmbeddedServerError):
            self._server.leave()


ROLE_EXCEEDS_RIGHTS = """
SELECT rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolreplication OR NOT rolcanlogin
FROM pg_roles WHERE rolname = $1
"""


async def _to_its_end(work: Callable[[], None]) -> None:
    """Run blocking `work` in a thread; a cancellation waits for it, since a thread cannot be stopped half-way."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
