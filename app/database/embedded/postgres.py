"""Runs a Postgres server on the data dir when no database is configured.

Starts a Postgres 18 server with pgvector (from a wheel) on the data dir, or joins the running one. All processes that
use the data dir share the server; it is restarted within seconds if it dies, and the last process to leave stops it.
The server listens only on a socket in a private folder, and accepts the user of this process and root (`peer`
authentication). Processes coordinate by kernel locks (flock), which are released when their holder ends for any reason:

    lock      exclusive, while a client starts or stops the server
    clients   shared by every client; a client that gets it exclusively is the last one
    server    shared by every process of the server through inheritance; free if none of them runs
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import logging
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self
from urllib.parse import quote

import asyncpg
import psutil

from app.database.embedded import embedded_files, embedded_programs
from app.errors import EmbeddedServerError

log = logging.getLogger(__name__)

OWNER = "postgres"
DATABASE = "stepwell"
SERVICE_ROLE = "stepwell_service"
RESTRICTED_ROLE = "stepwell_restricted"
"""The role of transactions for a caller who does not see everything."""
SERVICE_RIGHTS = "LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION"
SOCKET_ROOT = Path("/tmp")
"""Parent of the private socket folder if the path inside the data dir is too long for a socket."""
WATCH_S = 0.25
MAX_PAUSE_S = 5.0
ACCEPT_WAIT_S = 30.0
LOCK_WAIT_S = 180.0
LEFTOVER_GRACE_S = 0.5
LEFTOVER_WAIT_S = 10.0
EXIT_S = 1.0
"""Most seconds to wait for the end of the server's process after its pid file is removed, when `pg_ctl` returns."""
POLL_S = 0.02
RESERVE_BYTES = 20_000_000
"""Disk space that a start needs: for a segment of the write-ahead log (16 MiB), the pid and the logs."""

Tuning = embedded_programs.Tuning
SMALL = embedded_programs.SMALL


class EmbeddedPostgres:
    """The server of a data dir, in use during the `async with` block, or from `start` to `stop`."""

    def __init__(self, data_dir: Path, *, tuning: Tuning | None = None, socket_root: Path = SOCKET_ROOT) -> None:
        self.layout = embedded_files.Layout(data_dir, socket_root)
        self._tuning = tuning or embedded_programs.for_memory(embedded_programs.usable_memory())
        self._account: embedded_files.Account | None = None
        self._client_lock: int | None = None
        self._postmaster: psutil.Process | None = None
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
        return None if self._postmaster is None else self._postmaster.pid

    def dsn(self, *, user: str, database: str = DATABASE, driver: str = "postgresql+asyncpg") -> str:
        """The URL of `database` for `user`, unchanged by restarts; asyncpg itself requires the driver `postgresql`."""
        socket_folder = quote(str(self.layout.sockets), safe="/")
        return f"{driver}://{quote(user)}@/{quote(database)}?host={socket_folder}&port=5432"

    async def start(self) -> Self:
        """Join or start the server, ensure database and role, and start the watcher. Raises EmbeddedServerError."""
        try:
            await _run_uninterrupted(self._join)
            atexit.register(self._leave_at_exit)
            await self.ensure_database_and_role()
        except BaseException:
            await self.stop()
            raise
        self._watcher = asyncio.create_task(self.watch(), name="watch the embedded Postgres")
        return self

    async def stop(self) -> None:
        """Leave the server; the last client to leave shuts it down. Repeated calls have no effect.

        A failure, such as a deleted data dir, is logged: the process ends all the same.
        """
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
            self._watcher = None
        try:
            await _run_uninterrupted(self._leave)
        except EmbeddedServerError as error:
            log.error("the embedded Postgres could not be stopped: %s", error)
        atexit.unregister(self._leave_at_exit)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_error: object) -> None:
        await self.stop()

    async def watch(self) -> None:
        """Restart the server whenever it dies, until cancelled; `start` runs this as a task."""
        pause = WATCH_S
        while True:
            await asyncio.sleep(pause)
            pause, next_pause = WATCH_S, min(2 * pause, MAX_PAUSE_S)
            if self._is_alive():
                continue
            log.warning("the embedded Postgres died, or its socket was removed; restarting it")
            try:
                await asyncio.to_thread(self._restart)
            except Exception as error:
                log.error("the embedded Postgres could not be restarted: %s", error)
                pause = next_pause

    async def ensure_running(self) -> None:
        """Return once the server accepts connections, restarting it if it died; for callers that lost a connection.

        Raises EmbeddedServerError if the restart fails, or if no connection succeeds within ACCEPT_WAIT_S seconds.
        """
        if self._client_lock is None:
            raise EmbeddedServerError("The embedded Postgres is not in use: call start() first.")
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
        """Connect to the maintenance database as the superuser, retrying for up to ACCEPT_WAIT_S seconds.

        A server that died, or dies meanwhile, is restarted. Raises EmbeddedServerError.
        """
        deadline = time.monotonic() + ACCEPT_WAIT_S
        while True:
            if not self._is_alive():
                await asyncio.to_thread(self._restart)
            try:
                return await asyncpg.connect(self.dsn(user=OWNER, database="postgres", driver="postgresql"), timeout=5)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                if time.monotonic() > deadline or isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
                    raise EmbeddedServerError(f"The embedded Postgres does not accept connections: {error}") from error
            await asyncio.sleep(0.05)

    def _leave_at_exit(self) -> None:
        with suppress(EmbeddedServerError):
            self._leave()

    def _is_alive(self) -> bool:
        """Whether the postmaster of the last check still runs and can be reached; takes well under a millisecond."""
        return self._postmaster is not None and _runs(self._postmaster) and self.layout.socket.exists()

    # All methods that follow block: they are called from a thread.

    def _join(self) -> None:
        """Register as a client, and start the server unless it runs. Raises EmbeddedServerError."""
        with _translate_errors():
            self._account = embedded_files.server_account()
            embedded_files.prepare(self.layout, self._account)
            with self._hold_lock():
                if self._client_lock is None:
                    self._client_lock = self._open("clients", fcntl.LOCK_SH)
                try:
                    self._ensure_up(self._account)
                except BaseException:
                    self._release_client_lock()
                    raise

    def _restart(self) -> None:
        """Restart the server if it died; no effect if it runs or if this client has left."""
        with _translate_errors(), self._hold_lock():
            if self._client_lock is not None and self._account is not None:
                if not self.layout.version_file.exists():  # a new cluster would hide that the data are gone
                    raise EmbeddedServerError(
                        f"The data in {self.layout.data} are gone: put them back, or restart Stepwell to begin anew."
                    )
                self._ensure_up(self._account)

    def _leave(self) -> None:
        """Unregister; the last client stops the server. Repeated calls have no effect."""
        if self._client_lock is None:
            return
        with _translate_errors(), self._hold_lock():
            self._release_client_lock()
            exclusive = self._try_exclusive("clients")
            if exclusive is not None and self._account is not None:
                os.close(exclusive)
                if (postmaster := self._find_postmaster()) is not None:
                    programs = embedded_programs.locate(self.layout, self._account)
                    embedded_programs.halt(programs, self.layout, self._account)
                    deadline = time.monotonic() + EXIT_S
                    while _runs(postmaster) and time.monotonic() < deadline:
                        time.sleep(POLL_S)
                self._postmaster = None

    def _ensure_up(self, account: embedded_files.Account) -> None:
        is_ready = self._wait_until_ready()
        if is_ready and self.layout.socket.exists():
            return
        programs = embedded_programs.locate(self.layout, account)
        if is_ready:  # nobody can connect, and Postgres does not make the file again
            embedded_programs.halt(programs, self.layout, account)
        embedded_files.create_private_folder(self.layout.sockets, account)
        self._clear_leftovers()
        embedded_files.create_private_folder(self.layout.log, account)
        life = self._open("server", fcntl.LOCK_SH)
        try:
            if not self.layout.version_file.exists():
                embedded_programs.initialise(programs, self.layout, account, life)
            self._launch(programs, account, life)
        finally:
            os.close(life)

    def _wait_until_ready(self) -> bool:
        """Wait until the running postmaster is ready; returns False if no postmaster runs."""
        deadline = time.monotonic() + embedded_programs.START_WAIT_S
        while (postmaster := self._find_postmaster()) is not None:
            self._postmaster = postmaster
            lines = self._pid_file_lines()
            if len(lines) > 7 and lines[7].strip() in ("ready", "standby"):
                return True
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"Postgres did not become ready in {embedded_programs.START_WAIT_S} s.{self._last_log_lines()}"
                )
            time.sleep(POLL_S)
        return False

    def _find_postmaster(self) -> psutil.Process | None:
        """The process in the pid file, if it runs in the data folder. The pid alone may have been reused."""
        lines = self._pid_file_lines()
        if not lines or not lines[0].strip().isdigit():
            return None
        try:
            process = psutil.Process(int(lines[0]))
            if not _runs(process):
                return None
            try:
                is_server = Path(process.cwd()) == self.layout.data
            except psutil.AccessDenied:
                is_server = process.name() == "postgres"
        except psutil.NoSuchProcess:
            return None
        return process if is_server else None

    def _pid_file_lines(self) -> list[str]:
        try:
            return self.layout.pid_file.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _clear_leftovers(self) -> None:
        """End all processes of an earlier server: two servers on one data folder would corrupt it.

        Child processes survive a killed postmaster for a moment, or until their query ends; after a grace period they
        are killed.
        """
        if not self._wait_until_unused(LEFTOVER_GRACE_S):
            for process in psutil.process_iter():
                with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    is_program = process.name() in embedded_programs.NAMES
                    if is_program and Path(process.cwd()) in (self.layout.data, self.layout.draft):
                        process.kill()
            if not self._wait_until_unused(LEFTOVER_WAIT_S):
                raise EmbeddedServerError(
                    f"{self.layout.base} is in use by processes that cannot be seen or ended from here, "
                    "for example in another container: stop them, or set STEPWELL_DATA_DIR to another folder."
                )
        # Postgres does not start if a pid in a stale file is in use again.
        socket = self.layout.socket
        for stale in (self.layout.pid_file, socket, socket.with_name(f"{socket.name}.lock")):
            stale.unlink(missing_ok=True)

    def _wait_until_unused(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while (exclusive := self._try_exclusive("server")) is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        os.close(exclusive)
        return True

    def _launch(self, programs: Path, account: embedded_files.Account, life: int) -> None:
        written_by = self.layout.version_file.read_text(encoding="ascii").strip()
        if written_by != embedded_programs.MAJOR:
            raise EmbeddedServerError(
                f"The data in {self.layout.data} were written by Postgres {written_by}, and this is "
                f"{embedded_programs.MAJOR}: dump them with Postgres {written_by} and restore, or set "
                "STEPWELL_DATA_DIR to another folder."
            )
        embedded_files.create_private_folder(self.layout.data, account)
        if shutil.disk_usage(self.layout.base).free < RESERVE_BYTES:
            (self.layout.base / "reserve").unlink(missing_ok=True)
        embedded_programs.configure(self.layout, account, self._tuning)
        self.layout.start_log.unlink(missing_ok=True)
        failure = embedded_programs.launch(programs, self.layout, account, life)
        if failure or not self._wait_until_ready():
            raise EmbeddedServerError(f"Postgres did not start: {failure}{self._last_log_lines()}")
        _keep_reserve(self.layout.base)

    def _last_log_lines(self) -> str:
        """The last lines of what the server has logged since its last start, for an error message."""
        logs = sorted(self.layout.log.glob("*.log"), key=lambda path: path.stat().st_mtime)
        if self.layout.start_log in logs:
            logs = logs[logs.index(self.layout.start_log) :]  # what is older tells of an earlier start
        lines = [line for path in logs[-2:] for line in path.read_text(errors="replace").splitlines()[-5:]]
        return "".join(f"\n  {line}" for line in lines)

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """Hold the lock of the data dir under which one client at a time starts or stops the server."""
        deadline = time.monotonic() + LOCK_WAIT_S
        while (lock := self._try_exclusive("lock")) is None:
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"Another process has been starting or stopping the embedded Postgres for {LOCK_WAIT_S:.0f} s."
                )
            time.sleep(POLL_S)
        try:
            yield
        finally:
            os.close(lock)

    def _open(self, name: str, kind: int) -> int:
        """Lock a file of the base folder, until the returned descriptor is closed or the process ends."""
        lock = os.open(self.layout.base / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, kind)
        except BaseException:
            os.close(lock)
            raise
        return lock

    def _try_exclusive(self, name: str) -> int | None:
        try:
            return self._open(name, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None

    def _release_client_lock(self) -> None:
        if self._client_lock is not None:
            os.close(self._client_lock)
            self._client_lock = None


ROLE_EXCEEDS_RIGHTS = """
SELECT rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolreplication OR NOT rolcanlogin
FROM pg_roles WHERE rolname = $1
"""


async def _run_uninterrupted(work: Callable[[], None]) -> None:
    """Run blocking `work` in a thread. A cancellation waits for its end, because a thread cannot be interrupted."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def _runs(process: psutil.Process) -> bool:
    """Whether a process is alive and not a zombie; zombies that are children of this process are reaped."""
    try:
        if not process.is_running():
            return False
        if process.status() != psutil.STATUS_ZOMBIE:
            return True
    except psutil.NoSuchProcess:
        return False
    with suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
    return False


def _keep_reserve(base: Path) -> None:
    """Reserve the space with a file, if it is missing or was left half, and the disk has room for twice as much."""
    file = base / "reserve"
    is_whole = file.exists() and file.stat().st_size == RESERVE_BYTES
    if is_whole or shutil.disk_usage(base).free < 2 * RESERVE_BYTES:
        return
    try:
        file.write_bytes(bytes(RESERVE_BYTES))
    except OSError:
        with suppress(OSError):
            file.unlink(missing_ok=True)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate operating system errors (permissions, space, missing programs) into EmbeddedServerError."""
    try:
        yield
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        reason = error.strerror or type(error).__name__
        raise EmbeddedServerError(f"The embedded Postgres cannot be run here: {reason}{place}.") from error
    except subprocess.SubprocessError as error:
        raise EmbeddedServerError(f"The embedded Postgres cannot be run here: {error}") from error
