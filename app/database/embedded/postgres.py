"""Runs a Postgres server on the data dir when no database is configured.

Starts a Postgres 18 server with pgvector (from a wheel) on the data dir, or joins the running one. All processes that
use the data dir share the server; it is restarted within seconds if it dies, and the last process to leave stops it.
The server listens only on a socket in a private folder, and accepts the user of this process and root (`peer`
authentication).
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
import psutil

from app.database.embedded import embedded_programs, embedded_server
from app.errors import EmbeddedServerError

log = logging.getLogger(__name__)

OWNER = "postgres"
DATABASE = "stepwell"
SERVICE_ROLE = "stepwell_service"
RESTRICTED_ROLE = "stepwell_restricted"
"""What a transaction takes for a caller who does not see everything."""
SERVICE_RIGHTS = "LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION"
SOCKET_ROOT = Path("/tmp")
"""Parent of the private socket folder if the path inside the data dir is too long for a socket."""
WATCH_S = 0.25
MAX_PAUSE_S = 5.0
ACCEPT_WAIT_S = 30.0

Tuning = embedded_programs.Tuning
SMALL = embedded_programs.SMALL


class EmbeddedPostgres:
    """The server of a data dir, in use during the `async with` block, or from `start` to `stop`."""

    def __init__(self, data_dir: Path, *, tuning: Tuning | None = None, socket_root: Path = SOCKET_ROOT) -> None:
        tuning = tuning or embedded_programs.for_memory(psutil.virtual_memory().total)
        self._server = embedded_server.Server(data_dir, tuning=tuning, socket_root=socket_root)
        self._watcher: asyncio.Task[None] | None = None

    @property
    def owner_dsn(self) -> str:
        """The SQLAlchemy URL of the database for the superuser, for migrations."""
        return self.dsn(user=OWNER)

    @property
    def service_dsn(self) -> str:
        """The SQLAlchemy URL of the database for the service's role, to which row-level security applies."""
        return self.dsn(user=SERVICE_ROLE)

    @property
    def postmaster_pid(self) -> int | None:
        """The process id of the server at the last check."""
        return self._server.postmaster_pid

    def dsn(self, *, user: str, database: str = DATABASE, driver: str = "postgresql+asyncpg") -> str:
        """The URL of `database` for `user`, unchanged by restarts; asyncpg itself requires the driver `postgresql`."""
        socket_folder = quote(str(self._server.layout.sockets), safe="/")
        return f"{driver}://{quote(user)}@/{quote(database)}?host={socket_folder}&port=5432"

    async def start(self) -> Self:
        """Join or start the server, ensure database and role, and start the watcher. Raises EmbeddedServerError."""
        try:
            await _run_uninterrupted(self._server.join)
            atexit.register(self._leave_at_exit)
            await self.ensure_database_and_role()
        except BaseException:
            await self.stop()
            raise
        self._watcher = asyncio.create_task(self.watch(), name="watch the embedded Postgres")
        return self

    async def stop(self) -> None:
        """Leave the server; the last client to leave shuts it down. Repeated calls have no effect."""
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
            self._watcher = None
        await _run_uninterrupted(self._server.leave)
        atexit.unregister(self._leave_at_exit)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def watch(self) -> None:
        """Restart the server whenever it dies, until cancelled; `start` runs this as a task."""
        pause = WATCH_S
        while True:
            await asyncio.sleep(pause)
            pause = WATCH_S if self._server.alive() or await self._restart() else min(2 * pause, MAX_PAUSE_S)

    async def _restart(self) -> bool:
        log.warning("the embedded Postgres died; restarting it")
        try:
            await asyncio.to_thread(self._server.ensure_up)
        except Exception as error:
            log.error("the embedded Postgres could not be restarted: %s", error)
            return False
        return True

    async def ensure_running(self) -> None:
        """Return once the server accepts connections, restarting it if it died; for callers that lost a connection.

        Raises EmbeddedServerError if the restart fails, or if no connection succeeds within ACCEPT_WAIT_S seconds.
        """
        if not self._server.joined:
            raise EmbeddedServerError("The embedded Postgres is not in use: call start() first.")
        if not self._server.alive():
            await asyncio.to_thread(self._server.ensure_up)
        (await self._connect()).terminate()

    async def ensure_database_and_role(self) -> None:
        """Create the database and the service's role if missing, and revoke attributes that the role must not have."""
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
        """Connect to the maintenance database as the superuser, retrying for up to ACCEPT_WAIT_S seconds."""
        deadline = time.monotonic() + ACCEPT_WAIT_S
        while True:
            try:
                return await asyncpg.connect(self.dsn(user=OWNER, database="postgres", driver="postgresql"), timeout=5)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                if time.monotonic() > deadline or isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
                    raise EmbeddedServerError(f"The embedded Postgres does not accept connections: {error}") from error
            await asyncio.sleep(0.05)

    def _leave_at_exit(self) -> None:
        with suppress(EmbeddedServerError):
            self._server.leave()


ROLE_EXCEEDS_RIGHTS = """
SELECT rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolreplication OR NOT rolcanlogin
FROM pg_roles WHERE rolname = $1
"""


async def _run_uninterrupted(work: Callable[[], None]) -> None:
    """Run blocking `work` in a thread; a cancellation waits until it is done, since a thread cannot be interrupted."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
